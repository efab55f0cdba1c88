"""The table of results on a suite's page."""

from __future__ import annotations

from tests.factories import make_model, make_revision
from tests.runs.boards import finished_run


def test_the_legend_says_the_level_of_chance(client, people):
    revision = make_revision(people.alice, items=4)
    finished_run(revision, make_model(people.alice), [1, 1, 1, 0])
    page = " ".join(client.get(revision.suite.get_absolute_url()).content.decode().split())
    assert "Dashed tick: chance, 50.0%." in page
