"""The job that checks a model.

Models that read files are loaded in a child process. A file that hangs or crashes a library then does not affect the
worker, which could not stop a thread that is building a model.
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
from dataclasses import replace
from math import ceil
from pathlib import Path
from time import perf_counter
from typing import IO, Any, NamedTuple

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
    MemoryInUse,
    ModelFacts,
    NotOnThisMachine,
    hub_cache,
    probe,
)
from lmgym.models.backends.base import describe_exception
from models_registry.hub_tokens import sent_to_check
from models_registry.models import BYTES_PER_DOWNLOAD_UNIT, DOWNLOAD_UNIT, RegisteredModel
from models_registry.rechecks import CHECK_VERSION
from models_registry.references import compare
from models_registry.signals import start_token_settled
from models_registry.warm import (
    MEGABYTE,
    effective_config,
    files_changed,
    forget,
    load_registered,
    retry_after_eviction,
    thread_count,
)
from models_registry.weights import hub_budget

logger = logging.getLogger(__name__)

LIBRARY_PATH = Path(lmgym.__file__).parents[1]
POLL_SECONDS = 0.1
SHARE_OF_RAM = 0.8
MAX_LOGGED = 2_000
TAIL_BYTES = 200
"""Number of bytes read from the end of the child's output, enough for a whole line of progress."""

Progress = Callable[[int, int], None]
"""Callback that receives the bytes downloaded and the bytes in total."""


class Checked(NamedTuple):
    """Facts, results of the probe, loading time in seconds, and the current name of the
    repository on the Hub, or ""."""

    facts: ModelFacts
    probe: dict[str, Any]
    seconds: float
    repo: str = ""


def _seconds() -> float:
    """Return the job's time limit. `_wait` ends the child earlier; this limit ends checks that hang elsewhere."""
    return float(settings.GYM_MODEL_CHECK_SECONDS) + 60


@handler("check_model", seconds=_seconds)
def check_model(context: JobContext) -> None:
    """Load the model, score a probe sentence, and store the findings or the reason why it does not work.

    If a server is unavailable or files are missing here, the recheck of a ready model stores nothing and is retried."""
    rows = RegisteredModel.objects.filter(pk=context.payload["model"], check_job=context.job_id)
    model = rows.first()
    if model is None:
        raise PermanentFailure("The model was deleted or corrected, so this check no longer applies.")
    recheck = bool(context.payload.get("recheck"))

    def progress(downloaded: int, total: int) -> None:
        units = ceil(total / BYTES_PER_DOWNLOAD_UNIT)
        context.progress(downloaded * units // max(1, total), units, DOWNLOAD_UNIT)

    try:
        findings = inspect(
            model,
            repin=context.payload.get("repin", True),
            recheck=recheck,
            tick=context.check,
            progress=progress,
        )
    except NotOnThisMachine as error:
        raise MissingResource(error.lacks(model.slug)) from error
    if findings["status_reason"]:
        context.log(findings["status_reason"])
    with context.finish():
        # no row matches if the model has been corrected in the meantime, which queues another check
        if rows.update(**findings) and findings["facts"]:
            model.facts = findings["facts"]
            start_token_settled.send(sender=RegisteredModel, model=model)


def inspect(
    model: RegisteredModel,
    *,
    repin: bool = True,
    recheck: bool = False,
    tick: Callable[[], None] = lambda: None,
    progress: Progress = lambda downloaded, total: None,
) -> dict[str, Any]:
    """Check a model and return the findings as values for RegisteredModel's fields.

    A model that does not work is a finding (status broken, with the reason), not an error.

    Args:
        repin: resolve a branch of the hub to its newest commit; else keep the approved commit.
        recheck: require the same model as in the last check, and raise BackendUnavailable and NotOnThisMachine, which
            are not the model's fault.
        tick: called several times a second while files are loaded; may raise.
        progress: called with the bytes downloaded and the bytes in total while files are downloaded.
    """
    model.facts = {}
    if repin:
        model.source_revision = ""
    forget(model)
    try:
        facts, probed, loading, repo = _load_and_probe(model, tick, progress)
        if recheck and model.fingerprint and facts.fingerprint != model.fingerprint:
            raise files_changed(model)
    except BackendError as error:
        if recheck and isinstance(error, BackendUnavailable | NotOnThisMachine):
            raise
        return _broken(str(error))
    except DatabaseError:
        raise  # not the model's fault: the check is retried
    except Exception as error:
        logger.exception("the check of %s raised an exception", model.slug)
        return _broken(describe_exception(error, Path(settings.GYM_MODEL_DIR)))
    return {
        "status": RegisteredModel.Status.READY,
        "status_reason": "",
        "facts": {
            **facts.to_dict(),
            "check_version": CHECK_VERSION,
            "probe": probed,
            "load_seconds": round(loading, 2),
        },
        "fingerprint": facts.fingerprint,
        **({"config": model.config | {"repo": repo}} if repo else {}),
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
    """Mark models as broken if their check ended without findings: it was cancelled, timed
    out or lost its worker."""
    unchecked = RegisteredModel.objects.filter(status=RegisteredModel.Status.UNCHECKED)
    ended = unchecked.filter(check_job__state__in=[State.FAILED, State.CANCELLED])
    for model in ended.select_related("check_job"):
        assert model.check_job is not None
        why = model.check_job.error or "it was cancelled."
        reason = f"The check ended without a result: {why} Check the model again."
        unchecked.filter(pk=model.pk, check_job=model.check_job).update(**_broken(reason))


def _load_and_probe(model: RegisteredModel, tick: Callable[[], None], progress: Progress) -> Checked:
    """Load the model, probe it, and compare a server with its reference. Files are loaded in a child process that can
    be killed; remote backends have their own time limits. Raises BackendError."""
    spec = BACKENDS[model.backend]
    if spec.needs_files and not spec.needs_external_access:
        return retry_after_eviction(lambda: _load_in_child(model, tick, progress))
    started = perf_counter()
    backend = load_registered(model)
    loading = perf_counter() - started
    probed = probe(backend)
    compared = compare(model, backend)
    if compared.result:
        probed["reference"] = compared.result
    notes = (*backend.facts.notes, compared.note) if compared.note else backend.facts.notes
    return Checked(replace(backend.facts, notes=notes), probed, loading)


def _load_in_child(model: RegisteredModel, tick: Callable[[], None], progress: Progress) -> Checked:
    """Run `_load_and_probe` in a child process. `tick` is called several times a second; if it raises, the
    child is killed, and its partial downloads are deleted."""
    request = {
        "slug": model.slug,
        "kind": model.backend,
        "config": effective_config(model),
        "model_dir": str(settings.GYM_MODEL_DIR),
        "hub_allowed": settings.GYM_HUB_ALLOWED,
        "hub_budget": hub_budget(),
        "hub_token": sent_to_check(model),
        "parent": os.getpid(),
    }
    with (
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as errors,
    ):
        stdin.write(json.dumps(request).encode())
        stdin.seek(0)
        child = subprocess.Popen(
            [sys.executable, "-m", "lmgym.models.backends.smoke_test"],
            stdin=stdin,
            stdout=stdout,
            stderr=errors,
            cwd=LIBRARY_PATH,  # so that `-m` finds the library in a checkout
            env=os.environ | {"OMP_NUM_THREADS": str(thread_count())},
        )

        def on_poll() -> None:
            tick()
            if (line := _last_progress(stdout)) is not None:
                progress(line["downloaded"], line["total"])

        try:
            _wait(child, on_poll)
        finally:
            child.kill()
            child.wait()
            if model.config.get("source") == "hub":
                hub_cache.drop_partials()
        result = _result(child, stdout, errors)
    facts, repo = ModelFacts.from_dict(result["facts"]), result["repo"]
    return Checked(facts, result["probe"], result["seconds"], repo)


def _last_progress(stdout: IO[bytes]) -> dict[str, int] | None:
    """Return the child's last line of progress, without moving the position at which it writes."""
    size = os.fstat(stdout.fileno()).st_size
    lines = os.pread(stdout.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES)).split(b"\n")
    if len(lines) < 2 or not lines[-2].startswith(b'{"downloaded"'):
        return None
    line: dict[str, int] = json.loads(lines[-2])
    return line


def _wait(child: subprocess.Popen[bytes], tick: Callable[[], None]) -> None:
    """Wait for the child. Raises BackendError if it exceeds a check's time or memory limit."""
    until = time.monotonic() + settings.GYM_MODEL_CHECK_SECONDS
    most = memory_limit()
    while child.poll() is None:
        tick()
        if time.monotonic() >= until:
            raise BackendError(
                f"Loading and probing the model took longer than {settings.GYM_MODEL_CHECK_SECONDS:,} seconds "
                "and was stopped.",
                "Staff can raise the limit (GYM_MODEL_CHECK_SECONDS).",
            )
        if process_bytes(child.pid) > most:
            raise BackendError(
                f"Loading and probing the model took more than {most // MEGABYTE:,} MB of memory and was stopped.",
                "Use a smaller model, or ask staff to raise the limit (GYM_MODEL_CHECK_MEMORY_MB).",
            )
        time.sleep(POLL_SECONDS)


class _Lacking(NotOnThisMachine):
    """Error for a missing resource that the child process described in words."""

    def __init__(self, message: str, what: str) -> None:
        super().__init__(message)
        self.what = what

    def lacks(self, model: str) -> str:
        return self.what


def memory_limit() -> int:
    """Return the memory limit of a check in bytes, not counting mapped files."""
    if settings.GYM_MODEL_CHECK_MEMORY_MB:
        return int(settings.GYM_MODEL_CHECK_MEMORY_MB) * MEGABYTE
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * SHARE_OF_RAM)


def _result(child: subprocess.Popen[bytes], stdout: IO[bytes], errors: IO[bytes]) -> dict[str, Any]:
    if child.returncode < 0:
        raise BackendError(f"The process that checked the model died: {describe_exit(child.returncode)}.")
    if child.returncode:
        logger.error("the process that checked a model failed\n%s", _end_of(errors))
        raise BackendError(
            "The process that checked the model failed without a result.",
            "See the worker's log for the reason.",
        )
    stdout.seek(0)
    result: dict[str, Any] = json.loads(stdout.read().splitlines()[-1])
    if "problem" in result:
        if result["raised"]:
            logger.error("checking a model raised\n%s", _end_of(errors))
        if result["lacks"]:
            raise _Lacking(result["problem"], result["lacks"])
        kind = BackendUnavailable if result["unavailable"] else BackendError
        raise (MemoryInUse if result["memory_in_use"] else kind)(result["problem"])
    return result


def _end_of(stream: IO[bytes]) -> str:
    stream.seek(max(0, stream.seek(0, os.SEEK_END) - MAX_LOGGED))
    return (
        stream.read()
        .decode(errors="replace")
        .replace(str(Path(settings.GYM_MODEL_DIR)), "the model directory")
    )
