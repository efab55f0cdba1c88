"""Background work on models: the check.

A model that reads files is loaded in a child process: what a file makes a library do there ends with the child, and the
worker goes on. Nothing else can end a thread that is building a model.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import IO, Any

from django.conf import settings
from django.db import DatabaseError
from django.dispatch import receiver
from django.utils import timezone

import lmgym
from gym.jobs.context import JobContext
from gym.jobs.errors import MissingResource, PermanentFailure
from gym.jobs.handlers import handler
from gym.jobs.models import State
from gym.jobs.process_memory import process_bytes
from gym.jobs.reaper import describe_exit
from gym.jobs.signals import time_passes
from lmgym.models.backends import (
    BACKENDS,
    BackendError,
    BackendUnavailable,
    ModelFacts,
    NoRoom,
    NotOnThisMachine,
    probe,
)
from lmgym.models.backends.base import describe_exception
from models_registry.models import RegisteredModel
from models_registry.rechecks import CHECK_VERSION
from models_registry.signals import start_token_settled
from models_registry.warm import (
    MEGABYTE,
    effective_config,
    files_changed,
    forget,
    load_registered,
    thread_count,
    unless_crowded,
)

logger = logging.getLogger(__name__)

LIBRARY_PATH = Path(lmgym.__file__).parents[1]
LOOK_SECONDS = 0.1
SHARE_OF_RAM = 0.8
MAX_SAID = 2_000


def _seconds() -> float:
    """The check ends itself, see `_wait`; this is for one that does not."""
    return float(settings.GYM_MODEL_CHECK_SECONDS) + 60


@handler("check_model", seconds=_seconds)
def check_model(context: JobContext) -> None:
    """Load the model, score a probe sentence, write down what was found, or exactly why it does not work. The recheck
    of a ready model finds nothing where a server is away or this worker lacks files: it is tried again."""
    wanted = RegisteredModel.objects.filter(pk=context.payload["model"], check_job=context.job_id)
    model = wanted.first()
    if model is None:
        raise PermanentFailure("The model was deleted or corrected.")
    recheck = bool(context.payload.get("recheck"))
    try:
        findings = inspect(
            model, repin=context.payload.get("repin", True), recheck=recheck, tick=context.check
        )
    except NotOnThisMachine as error:
        raise MissingResource(error.lacks(model.slug)) from error
    if findings["status_reason"]:
        context.log(findings["status_reason"])
    with context.finish():
        # not if it was corrected meanwhile: another check then looks at what it is now
        if wanted.update(**findings) and findings["facts"]:
            model.facts = findings["facts"]
            start_token_settled.send(sender=RegisteredModel, model=model)


def inspect(
    model: RegisteredModel,
    *,
    repin: bool = True,
    recheck: bool = False,
    tick: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """What a check finds, as values of RegisteredModel's fields.

    A model that cannot be used is a finding (status broken, with the reason), not an error. With `repin` a branch of
    the hub is resolved to its newest commit; otherwise the commit that was approved stays. With `recheck` the model
    must be the one that was checked before, and BackendUnavailable and NotOnThisMachine are raised: they say nothing
    about it. `tick` is called several times a second while files are loaded, and may raise.
    """
    model.facts = {}
    if repin:
        model.source_revision = ""
    forget(model)
    try:
        facts, found, loading = _try_out(model, tick)
        if recheck and model.fingerprint and facts.fingerprint != model.fingerprint:
            raise files_changed(model)
    except BackendError as error:
        if recheck and isinstance(error, BackendUnavailable | NotOnThisMachine):
            raise
        return _broken(str(error))
    except DatabaseError:
        raise  # no fault of the model: the check is tried again
    except Exception as error:
        logger.exception("the check of %s raised", model.slug)
        return _broken(describe_exception(error, Path(settings.GYM_MODEL_DIR)))
    return {
        "status": RegisteredModel.Status.READY,
        "status_reason": "",
        "facts": {
            **facts.to_dict(),
            "check_version": CHECK_VERSION,
            "probe": found,
            "load_seconds": round(loading, 2),
        },
        "fingerprint": facts.fingerprint,
        "source_revision": facts.revision if model.config.get("source") == "hub" else "",
        "parameters": facts.parameters,
        "vocabulary_size": facts.vocabulary_size,
        "licence": model.licence or facts.licence[:60],
        "checked_at": timezone.now(),
    }


def _broken(reason: str) -> dict[str, Any]:
    return {
        "status": RegisteredModel.Status.BROKEN,
        "status_reason": reason,
        "facts": {},
        "checked_at": timezone.now(),
    }


@receiver(time_passes, dispatch_uid="models_registry.checks that ended")
def settle_ended_checks(**_: Any) -> None:
    """Mark models as broken whose check ended without findings: cancelled, out of time, or its worker died."""
    unchecked = RegisteredModel.objects.filter(status=RegisteredModel.Status.UNCHECKED)
    ended = unchecked.filter(check_job__state__in=[State.FAILED, State.CANCELLED])
    for model in ended.select_related("check_job"):
        assert model.check_job is not None
        why = model.check_job.error or "it was cancelled."
        reason = f"The check ended without a result: {why} Check the model again."
        unchecked.filter(pk=model.pk, check_job=model.check_job).update(**_broken(reason))


def _try_out(model: RegisteredModel, tick: Callable[[], None]) -> tuple[ModelFacts, dict[str, Any], float]:
    """Facts, what the probe saw, seconds of loading. Files are loaded in a child that can be ended; what answers from
    elsewhere has time limits of its own, and the rest loads nothing. Raises BackendError."""
    spec = BACKENDS[model.backend]
    if spec.needs_files and not spec.needs_external_access:
        return unless_crowded(lambda: _try_out_in_child(model, tick))
    started = perf_counter()
    backend = load_registered(model)
    loading = perf_counter() - started
    found = probe(backend)
    return backend.facts, found, loading


def _try_out_in_child(
    model: RegisteredModel, tick: Callable[[], None]
) -> tuple[ModelFacts, dict[str, Any], float]:
    """`tick` is called several times a second and may raise, which ends the child."""
    request = {
        "slug": model.slug,
        "kind": model.backend,
        "config": effective_config(model),
        "model_dir": str(settings.GYM_MODEL_DIR),
        "hub_allowed": settings.GYM_HUB_ALLOWED,
        "parent": os.getpid(),
    }
    with (
        tempfile.TemporaryFile() as asked,
        tempfile.TemporaryFile() as said,
        tempfile.TemporaryFile() as errors,
    ):
        asked.write(json.dumps(request).encode())
        asked.seek(0)
        child = subprocess.Popen(
            [sys.executable, "-m", "lmgym.models.backends.trial"],
            stdin=asked,
            stdout=said,
            stderr=errors,
            cwd=LIBRARY_PATH,  # where `-m` finds the library in a checkout
            env=os.environ | {"OMP_NUM_THREADS": str(thread_count())},
        )
        try:
            _wait(child, tick)
        finally:
            child.kill()
            child.wait()
        found = _answer(child, said, errors)
    return ModelFacts.from_dict(found["facts"]), found["probe"], found["seconds"]


def _wait(child: subprocess.Popen[bytes], tick: Callable[[], None]) -> None:
    """Until it ends. Raises BackendError when it takes more time or memory than a check may."""
    until = time.monotonic() + settings.GYM_MODEL_CHECK_SECONDS
    most = memory_limit()
    while child.poll() is None:
        tick()
        if time.monotonic() >= until:
            raise BackendError(
                f"Loading the model and trying it out took longer than {settings.GYM_MODEL_CHECK_SECONDS:,} seconds "
                "and was ended.",
                "If the model is in order, staff can allow more (GYM_MODEL_CHECK_SECONDS).",
            )
        if process_bytes(child.pid) > most:
            raise BackendError(
                f"Loading the model and trying it out took more than {most // MEGABYTE:,} MB of memory and was ended.",
                "Use a smaller model; or staff can allow more (GYM_MODEL_CHECK_MEMORY_MB).",
            )
        time.sleep(LOOK_SECONDS)


class _Lacking(NotOnThisMachine):
    """What the child found lacking, in words."""

    def __init__(self, message: str, what: str) -> None:
        super().__init__(message)
        self.what = what

    def lacks(self, model: str) -> str:
        return self.what


def memory_limit() -> int:
    """Bytes that a check may take, files that are only mapped left out."""
    if settings.GYM_MODEL_CHECK_MEMORY_MB:
        return int(settings.GYM_MODEL_CHECK_MEMORY_MB) * MEGABYTE
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * SHARE_OF_RAM)


def _answer(child: subprocess.Popen[bytes], said: IO[bytes], errors: IO[bytes]) -> dict[str, Any]:
    if child.returncode < 0:
        raise BackendError(f"The process that tried the model out died: {describe_exit(child.returncode)}.")
    if child.returncode:
        logger.error("the process that tried a model out failed\n%s", _end_of(errors))
        raise BackendError(
            "The process that checks the model failed without a result.",
            "The worker's log has the reason.",
        )
    said.seek(0)
    found: dict[str, Any] = json.load(said)
    if "problem" in found:
        if found["raised"]:
            logger.error("trying a model out raised\n%s", _end_of(errors))
        if found["lacks"]:
            raise _Lacking(found["problem"], found["lacks"])
        raise (NoRoom if found["no_room"] else BackendError)(found["problem"])
    return found


def _end_of(stream: IO[bytes]) -> str:
    stream.seek(max(0, stream.seek(0, os.SEEK_END) - MAX_SAID))
    return (
        stream.read()
        .decode(errors="replace")
        .replace(str(Path(settings.GYM_MODEL_DIR)), "the model directory")
    )
