"""Factories of test data."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.conf import settings

from gym.accounts.models import User
from lmgym.suites.formats import read_suite
from models_registry.actors import inspect
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


_findings: dict[str, dict[str, Any]] = {}


def checked(model: RegisteredModel) -> RegisteredModel:
    """Store the results of the model's check, and return the model. A check takes seconds, so its results are
    cached by the model's configuration and files.
    """
    folder = settings.GYM_MODEL_DIR / model.config["path"]
    key = hashlib.sha256(json.dumps([model.backend, model.config]).encode())
    for path in sorted(folder.iterdir()) if folder.is_dir() else [folder]:
        key.update(path.name.encode() + path.read_bytes())
    if key.hexdigest() not in _findings:
        _findings[key.hexdigest()] = inspect(model)
    RegisteredModel.objects.filter(pk=model.pk).update(**_findings[key.hexdigest()])
    model.refresh_from_db()
    assert model.is_ready, model.status_reason
    return model
