"""Fixture data that is created once for all tests of a module."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tests.people import People, make_people


def once_a_module(build: Callable[[People], Any]) -> tuple[Any, Any, Any]:
    """Return three fixtures that a module assigns: `built`, `people`, and the result of `build` under any
    name. Each test gets its own copy, and its changes to the database are rolled back.
    """

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
