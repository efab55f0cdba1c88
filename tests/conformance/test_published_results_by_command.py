"""The commands of docs/uploading-results.md on the six published outcome files give every suite's accuracy."""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command

from gym.accounts.models import User
from gym.demo.loader import load_demo
from gym.runs.read.leaderboard.build import leaderboard
from lmgym.runs.leaderboard.options import Options
from lmgym.runs.rules import FIRST
from tests.conformance.test_published_results import by_hand, paper

SINGLE = ("1gram_bllip-lg", "gpt-2-pretrained_", "gpt-2-xl-pretrained_", "grnn_", "vanilla_bllip-lg")
SEEDS = "rnng_bllip-lg"


def test_three_commands_beside_the_demo_give_every_suites_accuracy(db, conformance, settings):
    """Run the commands of docs/uploading-results.md on a site whose demo has suites of the same names."""
    settings.ALLOWED_HOSTS = ["localhost"]  # demo accounts exist on a laptop only
    list(load_demo(queue_runs=False))
    admin = User.objects.get(username="admin")
    files = sorted((conformance / "suites").glob("*.json"))
    call_command(
        "import_suite", *files, freeze=True, visibility="public", stdout=StringIO(), stderr=StringIO()
    )
    single = [paper(conformance, name) for name in SINGLE]
    call_command("upload_results", *single, visibility="public", stdout=StringIO(), stderr=StringIO())
    call_command(
        "upload_results", paper(conformance, SEEDS), visibility="public", group=SEEDS,
        stdout=StringIO(), stderr=StringIO(),
    )  # fmt: skip

    expected: dict[str, dict[str, float]] = {}
    for path in [*single, paper(conformance, SEEDS)]:
        expected |= by_hand(path)
    board = leaderboard(AnonymousUser(), Options(rule=FIRST, source="uploaded"))
    ours = {column.suite.slug for column in board.columns if column.suite.owner == admin}
    assert {"center_embed-2", "subordination-2"} <= ours
    assert len(ours) == len(files)
    assert {row.name for row in board.rows} == set(expected)
    for row in board.rows:
        for column, cell in zip(board.columns, row.cells, strict=True):
            if column.suite.slug in ours:
                assert cell is not None
                assert cell.rate == pytest.approx(expected[row.name][column.revision.name], abs=1e-12)
            else:
                assert cell is None  # the demo's suite of the same name has other items
    grouped = leaderboard(AnonymousUser(), Options(rule=FIRST, source="uploaded", group=True))
    [seeds] = [row for row in grouped.rows if row.name == SEEDS]
    assert len(seeds.models) == 3
