"""A folder that is filled once for all processes of a test run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def once_a_run(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], None]) -> Path:
    """The first process fills it. Others wait for that; nobody changes it later."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # that of all processes
    folder, filled = base / name, base / f"{name}.filled"
    with FileLock(base / f"{name}.lock"):
        if not filled.exists():
            folder.mkdir()
            build(folder)
            filled.touch()
    return folder
