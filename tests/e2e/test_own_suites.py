"""End-to-end test of one of the repository's own suites on one of its own models."""

from __future__ import annotations

from gym.demo.catalogue import SUITES_DIR
from tests.walk import checked_demo_model, walk


def test_a_suite_walks_all_the_way(client, people):
    walk(client, people, checked_demo_model("demo-gpt2"), SUITES_DIR / "subordination.json")
