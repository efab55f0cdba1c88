"""End-to-end test of the repository's own suites on its own models."""

from __future__ import annotations

import pytest

from gym.demo.catalogue import SUITES_DIR
from tests.walk import checked_demo_model, walk


@pytest.mark.parametrize(
    ("suite", "model"),
    [("garden_path_npz", "demo-gpt2"), ("subordination", "demo-gpt2"), ("npi", "demo-ngram")],
)
def test_a_suite_walks_all_the_way(client, people, suite, model):
    walk(client, people, checked_demo_model(model), SUITES_DIR / f"{suite}.json")
