"""End-to-end test of the published suites. They are not part of the repository; without the conformance
folder these tests skip.

tests/e2e does the same with the repository's own suites.
"""

from __future__ import annotations

import pytest

from tests.lmgym.conftest import CONFORMANCE
from tests.walk import checked_demo_model, walk

FILES = sorted((CONFORMANCE / "suites").glob("*.json"))


@pytest.fixture(scope="module")
def loaded(module_db):
    """The demo's transformer, and the folder of the demo models."""
    from django.conf import settings

    return checked_demo_model("demo-gpt2"), settings.GYM_MODEL_DIR


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_published_suite_walks_all_the_way(client, people, settings, loaded, path):
    model, settings.GYM_MODEL_DIR = loaded
    walk(client, people, model, path)


def test_there_are_published_suites(conformance):
    assert len(FILES) == 17
