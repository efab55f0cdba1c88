"""Three scoring rules over the same outcomes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lmgym.runs.outcomes import PredictionOutcome, outcomes_alone
from lmgym.runs.rules import ALL, EACH, FIRST, chance_of, rule_of, score
from lmgym.suites.formats import PredictionDoc

A, B = "(2;%x%) > (2;%y%)", "(3;%x%) > (3;%y%)"


def judged(position, formula, outcomes, margins, too_close=0, close=()) -> PredictionOutcome:
    held = outcomes_alone(position, PredictionDoc(formula), [code == 1 for code in outcomes])
    return replace(held, outcomes=outcomes, margins=margins, too_close=too_close, close=close)


def two(first=(1, 1, 0, 2), second=(1, 0, 0, 3), **more) -> list[PredictionOutcome]:
    return [
        judged(0, A, first, [1.0, 2.0, -1.0, 0.0], **more),
        judged(1, B, second, [3.0, -2.0, -1.0, None], **more),
    ]


def test_each_prediction_counts_as_the_syntaxgym_site_counts():
    result = score(two(), EACH, 2)
    assert (result.rate, result.passed, result.judged, result.n) == (3 / 8, 3, 8, 4)
    assert (result.ties, result.not_evaluable) == (1, 1)


def test_the_conjunction_counts_as_the_hugging_face_metric_counts():
    result = score(two(), ALL, 2)
    assert (result.rate, result.passed, result.judged) == (0.25, 1, 4)
    assert result.mean_margin == pytest.approx((1.0 - 2.0 - 1.0) / 3)


def test_the_first_prediction_counts_as_the_paper_counts():
    result = score(two(), FIRST, 2)
    assert (result.rate, result.passed, result.judged, result.ties) == (0.5, 2, 4, 1)


def test_the_rules_agree_on_one_prediction():
    one = two()[:1]
    rows = [score(one, rule, 1) for rule in (EACH, ALL, FIRST)]
    assert len({(row.rate, row.low, row.high, row.chance, row.mean_margin) for row in rows}) == 1


def test_a_tie_holds_under_no_rule():
    tied = [judged(0, A, [2, 2], [0.0, 0.0])]
    assert [score(tied, rule, 1).rate for rule in (EACH, ALL, FIRST)] == [0.0] * 3


def test_uploads_without_all_predictions_have_no_score_where_all_are_needed():
    part = two()[1:]
    assert [score(part, rule, 2).rate for rule in (EACH, ALL, FIRST)] == [None, None, None]
    part = two()[:1]
    assert [score(part, rule, 2).rate for rule in (EACH, ALL, FIRST)] == [None, None, 0.5]


def test_chance_of_a_conjunction_is_not_the_mean_of_its_parts():
    assert chance_of((A, B), "each") == 0.5
    assert chance_of((A, B), "all") == 0.25
    assert chance_of((A, "(2;%y%) > (2;%x%)"), "all") == 0.0


def test_too_close_outcomes_are_counted():
    assert score(two(too_close=2), EACH, 2).too_close == 4
    assert score(two(too_close=2), FIRST, 2).too_close == 2


def test_an_item_is_too_close_once_under_the_conjunction():
    rows = [
        judged(0, A, [1, 1, 0, 1], [1.0, 2.0, -1.0, 1.0], 2, [True, False, False, True]),
        judged(1, B, [1, 0, 0, 3], [3.0, -2.0, -1.0, None], 2, [True, True, False, False]),
    ]
    assert [score(rows, rule, 2).too_close for rule in (EACH, ALL, FIRST)] == [4, 2, 2]


def test_never_more_items_are_too_close_than_there_are():
    assert score(two(too_close=3), ALL, 2).too_close == 4


def test_an_unknown_rule_is_each():
    assert rule_of("nonsense") is EACH
