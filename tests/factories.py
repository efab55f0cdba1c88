"""Factories of test data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import IO, Any
from unittest.mock import patch

from django.conf import settings

from gym.accounts.models import User
from lmgym.models.backends.smoke_test import run_smoke_test
from lmgym.suites.formats import read_suite
from models_registry import actors
from models_registry.models import RegisteredModel
from suites import services
from suites.models import Suite, SuiteRevision
from suites.options import SuiteOptions
from tests.lmgym.suites.documents import suite_bytes


def make_suite(
    owner: User,
    *,
    frozen: bool = True,
    visibility: str = "public",
    collaborator: User | None = None,
    **options: Any,
) -> Suite:
    suite = services.import_suite(
        read_suite(suite_bytes(**options)), SuiteOptions(visibility=visibility), actor=owner
    )
    if collaborator is not None:
        suite.collaborations.create(user=collaborator, role="edit")
    if frozen:
        services.freeze(suite, actor=owner)
    return suite


def make_revision(owner: User, **options: Any) -> SuiteRevision:
    revision = make_suite(owner, **options).latest_frozen
    assert revision is not None
    return revision


def make_model(owner: User, *, slug: str = "uniform", ready: bool = True, **fields: Any) -> RegisteredModel:
    """Create a uniform model over 1,024 words: 10 bits per token, no files, no torch."""
    values = {
        "name": slug.title(),
        "visibility": "public",
        "backend": "uniform",
        "config": {"vocabulary_size": 1024, "unit": "word"},
        "status": RegisteredModel.Status.READY if ready else RegisteredModel.Status.UNCHECKED,
    }
    return RegisteredModel.objects.create(slug=slug, owner=owner, **(values | fields))


class _NoChild:
    """Stand-in for the child process of a check, a `subprocess.Popen`: works in this process, at once."""

    returncode = 0

    def __init__(self, command: list[str], *, stdin: IO[bytes], stdout: IO[bytes], **options: Any) -> None:
        stdout.write(json.dumps(run_smoke_test(json.load(stdin))).encode())

    def poll(self) -> int:
        return self.returncode

    kill = wait = poll


@contextmanager
def checks_in_this_process() -> Iterator[None]:
    """Let checks load models in this process. A child process imports torch first, which takes seconds."""
    with patch.object(actors, "subprocess", SimpleNamespace(Popen=_NoChild)):
        yield


_findings: dict[str, dict[str, Any]] = {}


def checked(model: RegisteredModel) -> RegisteredModel:
    """Store the results of the model's check, made in this process, and return the model. Results are cached by
    the model's configuration and files.
    """
    folder = settings.GYM_MODEL_DIR / model.config["path"]
    key = hashlib.sha256(json.dumps([model.backend, model.config]).encode())
    for path in sorted(folder.iterdir()) if folder.is_dir() else [folder]:
        key.update(path.name.encode() + path.read_bytes())
    if key.hexdigest() not in _findings:
        with checks_in_this_process():
            _findings[key.hexdigest()] = actors.inspect(model)
    RegisteredModel.objects.filter(pk=model.pk).update(**_findings[key.hexdigest()])
    model.refresh_from_db()
    assert model.is_ready, model.status_reason
    return model
