"""Folders that are filled once for all processes of a test run, or once for a benchmark."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from filelock import FileLock

_base: Path | None = None


@cache
def _base_without_pytest() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="gym-run-")


@pytest.fixture(scope="session", autouse=True)
def base_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    global _base
    _base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        _base = _base.parent  # the directory that all processes share


def once_a_run(name: str, build: Callable[[Path], None]) -> Path:
    """Return a folder that the first process fills with `build`. The other processes wait; nobody may change
    it later."""
    base = _base or Path(_base_without_pytest().name)
    folder, filled = base / name, base / f"{name}.filled"
    with FileLock(base / f"{name}.lock"):
        if not filled.exists():
            folder.mkdir()
            build(folder)
            filled.touch()
    return folder
