"""What is built once: a world for all tests of a module, a folder for all processes of a test run."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.people import People, make_people


def once_a_module(build: Callable[[People], Any]) -> tuple[Any, Any, Any]:
    """Fixtures for a module: `built`, `people`, and what `build` makes of them under the name that the module likes.
    Each test has its own copy, and what it writes to the database is undone after it."""

    @pytest.fixture(scope="module")
    def built(module_db) -> tuple[People, Any]:
        people = make_people()
        return people, build(people)

    @pytest.fixture
    def people(built, db) -> People:
        return deepcopy(built[0])

    @pytest.fixture
    def world(built, db) -> Any:
        return deepcopy(built[1])

    return built, people, world


def once_a_run(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], None]) -> Path:
    """A folder that the first process of a test run fills. Others wait for it; nobody changes it later."""
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
