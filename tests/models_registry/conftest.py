"""Fixtures of the tests of registered models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.factories import checks_in_this_process


@pytest.fixture
def no_child() -> Iterator[None]:
    """Checks load models in this process. One test, in test_models_of_the_hub.py, checks a model that works in a
    child; test_files_that_lie.py, models that do not.
    """
    with checks_in_this_process():
        yield
