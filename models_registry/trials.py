"""Loading a model for its check, in a child process: what a file makes a library do there ends with the child, and the
worker goes on. Nothing else can end a thread that is building a model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from django.conf import settings

from gym.jobs.reaper import describe_exit
from models_registry.backends import BACKENDS, BackendError, ModelFacts
from models_registry.models import RegisteredModel
from models_registry.warm import MEGABYTE, effective_config, process_bytes, thread_count

LOOK_SECONDS = 0.1
SHARE_OF_RAM = 0.8
MAX_SAID = 2_000


def has_trial(model: RegisteredModel) -> bool:
    """Whether it loads files. What answers from elsewhere has time limits of its own, and the rest loads nothing."""
    spec = BACKENDS[model.backend]
    return spec.needs_files and not spec.needs_external_access


def try_out(model: RegisteredModel, tick: Callable[[], None]) -> tuple[ModelFacts, dict[str, Any], float]:
    """Facts, what the probe saw, and the seconds that loading took. `tick` is called several times a second and may
    raise, which ends the child. Raises BackendError."""
    request = {
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
            [sys.executable, "-m", "models_registry.backends.trial"],
            stdin=asked,
            stdout=said,
            stderr=errors,
            cwd=settings.BASE_DIR,
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


def memory_limit() -> int:
    """Bytes that a check may take, files that are only mapped left out."""
    if settings.GYM_MODEL_CHECK_MEMORY_MB:
        return int(settings.GYM_MODEL_CHECK_MEMORY_MB) * MEGABYTE
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * SHARE_OF_RAM)


def _answer(child: subprocess.Popen[bytes], said: IO[bytes], errors: IO[bytes]) -> dict[str, Any]:
    if child.returncode < 0:
        raise BackendError(f"The process that tried the model out died: {describe_exit(child.returncode)}.")
    if child.returncode:
        raise RuntimeError(f"the process that tried the model out failed\n{_end_of(errors)}")
    said.seek(0)
    found: dict[str, Any] = json.load(said)
    if "problem" in found:
        raise BackendError(found["problem"])
    return found


def _end_of(stream: IO[bytes]) -> str:
    stream.seek(max(0, stream.seek(0, os.SEEK_END) - MAX_SAID))
    return (
        stream.read()
        .decode(errors="replace")
        .replace(str(Path(settings.GYM_MODEL_DIR)), "the model directory")
    )
