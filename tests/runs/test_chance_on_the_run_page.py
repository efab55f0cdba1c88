"""Verdicts on the run page follow p, corrected for the run's predictions if there are several."""

from __future__ import annotations

import re

import pytest
from statsmodels.stats.multitest import multipletests

from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import AGREEMENT
from tests.runs.boards import finished_run


@pytest.fixture
def revision(people):
    return make_revision(people.alice, name="s", items=8, formulas=(AGREEMENT, AGREEMENT))


def test_several_predictions_are_corrected_by_holm(client, people, revision):
    run = finished_run(revision, make_model(people.alice), [1] * 8, [1] * 7 + [0])
    page = client.get(run.get_absolute_url())
    rows = page.context["results"]
    p = [row.result.p for row in rows]
    assert [row.verdict.p_corrected for row in rows] == pytest.approx(multipletests(p, method="holm")[1])
    assert rows[0].verdict.p_corrected > p[0]
    assert (
        len(re.findall("Holm-corrected for the 2 predictions", " ".join(page.content.decode().split()))) == 2
    )


def test_the_corrected_p_decides_the_word(client, people, revision):
    """7 of 8 gives p = .035, above chance for a single prediction, and .070 as one of two."""
    run = finished_run(revision, make_model(people.alice), [1] * 7 + [0], [1] * 7 + [0])
    page = client.get(run.get_absolute_url())
    text = " ".join(page.content.decode().split())
    assert [row.verdict.against_chance for row in page.context["results"]] == ["at", "at"]
    assert text.count("not distinguishable from chance (50.0%)") == 2
    assert "above chance (50.0%)" not in text


def test_rules_sum_up_the_same_outcomes_and_are_no_family(client, people, revision):
    run = finished_run(revision, make_model(people.alice), [1] * 8, [1] * 7 + [0])
    page = client.get(run.get_absolute_url())
    for row in page.context["by_rule"]:
        assert (row.verdict.decisive_p, row.verdict.holm) == (row.score.p, None)
    assert "p (Holm)" not in " ".join(page.content.decode().split())


def test_a_single_prediction_needs_no_correction(client, people):
    run = finished_run(make_revision(people.alice, name="t", items=8), make_model(people.alice), [1] * 8)
    text = " ".join(client.get(run.get_absolute_url()).content.decode().split())
    assert "one-sided p vs. chance" in text
    assert "Holm" not in text
