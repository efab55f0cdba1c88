"""Fixtures of the tests of registered models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.factories import checks_in_this_process


@pytest.fixture
def no_child() -> Iterator[None]:
    """Checks load models in this process. test_check_model.py and test_files_that_lie.py check in a child."""
    with checks_in_this_process():
        yield
