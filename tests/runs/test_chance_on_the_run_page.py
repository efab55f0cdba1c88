"""The run page gives p against chance as it is and corrected, and says which is which."""

from __future__ import annotations

import re

import pytest
from statsmodels.stats.multitest import multipletests

from tests.factories import AGREEMENT, make_model, make_revision
from tests.runs.boards import finished_run


@pytest.fixture
def revision(people):
    return make_revision(people.alice, name="s", items=8, formulas=(AGREEMENT, AGREEMENT))


def test_several_predictions_and_rules_are_corrected_by_holm(client, people, revision):
    run = finished_run(revision, make_model(people.alice), [1] * 8, [1, 1, 1, 1, 1, 1, 0, 0])
    page = client.get(run.get_absolute_url())
    for rows, p in (
        (page.context["results"], [row.result.p_above_chance_uncorrected for row in page.context["results"]]),
        (page.context["by_rule"], [row.score.p_above_chance_uncorrected for row in page.context["by_rule"]]),
    ):
        assert len(rows) > 1
        assert [row.p_holm for row in rows] == pytest.approx(multipletests(p, method="holm")[1])
        assert any(row.p_holm > raw for row, raw in zip(rows, p, strict=True))
    text = page.content.decode()
    assert len(re.findall("uncorrected; corrected by Holm for the 2 predictions", text)) == 2
    assert ">p, uncorrected</th>" in text
    assert ">p (Holm)</th>" in text


def test_a_single_prediction_needs_no_correction(client, people):
    run = finished_run(make_revision(people.alice, name="t", items=8), make_model(people.alice), [1] * 8)
    text = client.get(run.get_absolute_url()).content.decode()
    assert "one-sided p vs. chance" in text
    assert "Holm" not in text
