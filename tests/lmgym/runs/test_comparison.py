"""Runs on the same items are paired item by item; different quantities are not subtracted."""

from __future__ import annotations

import pytest

from lmgym.runs.comparison import (
    ItemOutcomes,
    Pair,
    Side,
    against_baseline,
    item_counts,
    item_counts_among,
    item_rows,
    pairs_of,
    total_difference,
)
from lmgym.runs.outcomes import PredictionOutcome
from lmgym.runs.rules import ALL, EACH, Rule
from lmgym.runs.run_differences import ScoredAs, in_words, run_differences, same_bits
from lmgym.stats import MCNEMAR, SIGN, correction_of, holm

SURPRISAL = ScoredAs("surprisal", {"bos": "auto", "metric": "sum", "join": "space"}, True)


def outcome(position: int, codes: list[int], margins: list[float | None] | None = None) -> PredictionOutcome:
    return PredictionOutcome(
        position=position,
        name="",
        formula="(1;%a%) > (1;%b%)",
        n=len(codes),
        passed=codes.count(1),
        ties=0,
        not_evaluable=0,
        too_close=0,
        low=None,
        high=None,
        chance=0.5,
        chance_standard_error=0.0,
        mean_margin=None,
        outcomes=codes,
        margins=margins or [float(code) - 0.5 for code in codes],
        close=[],
    )


def side(
    model: str, *codes: list[int], rule: Rule = EACH, revision: int = 1, scored_as: ScoredAs = SURPRISAL
) -> Side:
    rows = [
        ItemOutcomes(range(1, len(row) + 1), outcome(position, row)) for position, row in enumerate(codes)
    ]
    counts = item_counts(rows, rule, len(codes))
    return Side(model, model, revision, scored_as, counts, counts)


def test_one_prediction_is_compared_by_mcnemar_and_several_by_their_shares() -> None:
    one = pairs_of([side("a", [1, 1, 0]), side("b", [0, 0, 0])], correction_of("holm"), None)
    assert [(row.rate.test, row.rate.only_first, row.rate.only_second, row.rate.p) for row in one] == [
        (MCNEMAR.key, 2, 0, 0.5)
    ]
    several = pairs_of([side("a", [1, 1], [0, 1]), side("b", [1, 0], [1, 1])], correction_of("holm"), None)
    assert [(row.rate.test, row.rate.only_first, row.rate.only_second) for row in several] == [
        (SIGN.key, 1, 1)
    ]
    whole = [side("a", [1, 1], [0, 1], rule=ALL), side("b", [1, 0], [1, 1], rule=ALL)]
    assert pairs_of(whole, correction_of("holm"), None)[0].rate.test == MCNEMAR.key


def test_a_baseline_is_the_first_of_every_pair_and_p_is_corrected_for_the_pairs_that_are_shown() -> None:
    sides = [side("a", [1] * 8), side("b", [0] * 8), side("c", [0] * 6 + [1] * 2)]
    every = pairs_of(sides, correction_of("holm"), None)
    against = pairs_of(sides, correction_of("holm"), "a")
    assert [(row.first.label, row.second.label) for row in every] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [(row.first.label, row.second.label) for row in against] == [("a", "b"), ("a", "c")]
    assert [row.rate.p_corrected for row in against] == holm([row.rate.p for row in against])


def test_sides_that_differ_in_model_and_revision_are_no_pair() -> None:
    sides = [side("a", [1, 0]), side("b", [0, 0], revision=2), side("a", [1, 1], revision=2)]
    found = pairs_of(sides, correction_of("holm"), None)
    assert [(row.first.label, row.second.revision) for row in found] == [("a", 2), ("b", 2)]


def test_margins_of_other_quantities_are_not_subtracted() -> None:
    masked = ScoredAs("pseudo-log-likelihood", SURPRISAL.policy, True)
    [pair] = pairs_of([side("a", [1, 0]), side("b", [0, 0], scored_as=masked)], correction_of("holm"), None)
    assert pair.rate.difference == -0.5
    assert pair.margin is None
    [pair] = pairs_of([side("a", [1, 0]), side("b", [0, 0])], correction_of("holm"), None)
    assert pair.margin is not None
    assert pair.margin.mean == pytest.approx(-0.5)


def test_runs_differ_in_what_they_state_and_silence_about_whitespace_is_no_difference() -> None:
    other = ScoredAs("surprisal", {"bos": "never", "metric": "sum", "join": "space"}, True)
    uploaded = ScoredAs(
        "surprisal", {"bos": "auto", "metric": "sum", "join": "space", "whitespace": "none"}, True
    )
    found = run_differences([SURPRISAL, None, other])
    assert [in_words(row, ["A", "B", "C"]) for row in found] == ["Start token: auto (A); never (C)"]
    assert run_differences([SURPRISAL, uploaded]) == []
    assert same_bits(SURPRISAL, other)
    assert not same_bits(SURPRISAL, ScoredAs("surprisal", {}, False))


def test_two_revisions_are_compared_over_the_predictions_that_both_have() -> None:
    rows = [ItemOutcomes([1, 2], outcome(0, [1, 1])), ItemOutcomes([1, 2], outcome(1, [0, 1]))]
    among = item_counts_among(rows, EACH, [(1, True)])
    assert among.shares == {1: 0.0, 2: 1.0}
    assert [among.codes(item) for item in (1, 2)] == [[0], [1]]


def test_an_item_that_one_side_lacks_has_no_cell_there() -> None:
    rows = item_rows([side("a", [1, 0]), side("b", [1])])
    assert [(row.item, [cell and cell.counts for cell in row.sides], row.differs) for row in rows] == [
        (1, [1.0, 1.0], False),
        (2, [0.0, None], False),
    ]


def test_over_many_suites_p_is_corrected_for_all_of_them_and_the_total_is_the_mean_of_the_differences() -> (
    None
):
    suites: list[list[Side | None]] = [
        [side("a", [1] * 6), side("b", [0] * 6)],
        [side("a", [1, 0, 1], revision=2), None],
        [side("a", [1, 0], revision=3), side("b", [1, 1], revision=3)],
    ]
    rows = against_baseline(suites, correction_of("holm"))
    assert [[one is not None for one in row] for row in rows] == [[True], [False], [True]]
    known: list[Pair[Side]] = [one for row in rows for one in row if one]
    assert [one.rate.p_corrected for one in known] == holm([one.rate.p for one in known])
    total = total_difference(known, {})
    assert (total.suites_both, total.difference.mean, total.shared_items_factor) == (
        2,
        pytest.approx(-0.25),
        1.0,
    )
