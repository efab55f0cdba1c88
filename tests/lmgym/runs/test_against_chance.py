"""Verdicts against chance follow p: unit tests over all small samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from lmgym.runs.against_chance import ALPHA, CHANCE_WORDS, Verdict, alone, verdicts
from lmgym.runs.outcomes import PredictionOutcome
from lmgym.runs.rules import EACH, score
from lmgym.stats import effective_n, score_interval
from lmgym.suites.formulas import FALSE, NOT_EVALUABLE, TIE, TRUE

CHANCES = (0.125, 0.25, 0.5, 0.0, 1.0)


def prediction(passed: int, n: int, chance: float, ties: int = 0, missing: int = 0) -> PredictionOutcome:
    interval = score_interval(passed / n, n)
    assert interval is not None
    return PredictionOutcome(
        position=0, name="", formula="(1;%a%) < (1;%b%)", n=n, passed=passed, ties=ties, not_evaluable=missing,
        too_close=0, low=interval.low, high=interval.high, chance=chance, chance_standard_error=0.0,
        mean_margin=None, margins=[None] * n, close=[],
        outcomes=[TRUE] * passed + [TIE] * ties + [NOT_EVALUABLE] * missing + [FALSE] * (n - passed - ties - missing),
    )  # fmt: skip


def word(passed: int, n: int, chance: float, ties: int = 0, missing: int = 0) -> str:
    return alone(prediction(passed, n, chance, ties, missing)).against_chance


@pytest.mark.parametrize("chance", CHANCES)
def test_word_and_p_agree_for_every_count_up_to_40(chance):
    disagree = 0
    for n in range(1, 41):
        for k in range(n + 1):
            verdict = alone(prediction(k, n, chance))
            above, below = binom.sf(k - 1, n, chance), binom.cdf(k, n, chance)
            expected = "above" if above < ALPHA else "below" if below < ALPHA else "at"
            assert verdict.against_chance == expected, (k, n)
            assert verdict.decisive_p == pytest.approx(below if expected == "below" else above, abs=1e-12)
            assert (verdict.decisive_p < ALPHA) == (verdict.words != CHANCE_WORDS["at"])
            interval = score_interval(k / n, n)
            disagree += expected == "at" and not interval.low <= chance <= interval.high
    assert disagree > 0 or chance in (0.0, 1.0)  # the interval would give another verdict


@pytest.mark.parametrize("n", [1, 27, 28])
def test_where_chance_is_certain_and_met_nothing_is_tested(n):
    assert (word(n, n, 1.0), word(0, n, 0.0)) == ("at", "at")
    assert (word(n - 1, n, 1.0), word(1, n, 0.0)) == ("below", "above")
    assert word(n - 1, n, 1.0, ties=1) == "tied"


def test_four_of_four_is_not_distinguishable_from_chance():
    assert score_interval(1, 4).low > 0.5
    assert word(4, 4, 0.5) == "at"


@pytest.mark.parametrize(
    ("n", "ties", "expected"),
    [
        (20, 20, "tied"),
        (20, 6, "tied"),
        (20, 5, "below"),
        (20, 0, "below"),
        (28, 10, "tied"),
        (28, 8, "below"),
    ],
)
def test_ties_are_no_preference_for_the_wrong_side(n, ties, expected):
    """P(X <= 6 of 20) = .058; P(X <= 10 of 28) = .092."""
    assert word(0, n, 0.5, ties) == expected
    assert expected == ("tied" if binom.cdf(ties, n, 0.5) >= ALPHA else "below")


@pytest.mark.parametrize(
    ("ties", "missing", "expected"),
    [(0, 20, "missing"), (0, 10, "missing"), (0, 8, "below"), (5, 5, "missing"), (10, 5, "tied")],
)
def test_items_without_a_value_are_no_preference_either(ties, missing, expected):
    """P(X <= 10 of 28) = .092; P(X <= 8 of 28) = .018."""
    verdict = alone(prediction(0, 28, 0.5, ties, missing))
    assert verdict.against_chance == expected
    counted = {"tied": ties, "missing": ties + missing}.get(expected, 0)
    assert verdict.decisive_p == pytest.approx(binom.cdf(counted, 28, 0.5))


def test_holm_corrects_both_directions():
    pair = [prediction(7, 8, 0.5), prediction(1, 8, 0.5)]
    assert [alone(one).against_chance for one in pair] == ["above", "below"]
    assert [one.against_chance for one in verdicts([pair[0]] * 2)] == ["at", "at"]
    assert [one.against_chance for one in verdicts([pair[1]] * 2)] == ["at", "at"]


def test_a_rate_without_p_does_not_count_in_the_family():
    known, unknown = prediction(7, 8, 0.5), replace(prediction(7, 8, 0.5), chance=None)
    first, second = verdicts([known, unknown])
    assert (first.against_chance, first.p_corrected) == ("above", known.p)
    assert (second.against_chance, second.words, second.decisive_p) == ("", "", None)
    assert Verdict().against_chance == ""


def test_the_lower_tail_uses_the_effective_number_of_items():
    """Two predictions that always hold together carry no more information than one."""
    rows = [replace(prediction(3, 20, 0.5), position=k) for k in range(2)]
    found = score(rows, EACH, 2)
    assert found.judged == 40
    assert effective_n(np.array([1.0] * 3 + [0.0] * 17), 2) == pytest.approx(20)
    assert alone(found).p_below == pytest.approx(binom.cdf(3, 20, 0.5))
