"""Intervals, pass@k and pass^k, and comparing two rates."""

from __future__ import annotations

import itertools

import pytest

from lmgym.agents.pass_rates import (
    at_k,
    evidence,
    format_limits,
    format_rate,
    pass_at_k,
    pass_hat_k,
)
from lmgym.agents.run_comparison import Side, compare_pairs, compare_rates


@pytest.mark.parametrize(("n", "c"), [(5, 0), (5, 2), (5, 5), (7, 3), (1, 1)])
def test_pass_at_k_and_pass_hat_k_count_all_choices_of_k(n, c):
    outcomes = [True] * c + [False] * (n - c)
    for k in range(1, n + 1):
        choices = list(itertools.combinations(outcomes, k))
        assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, choices)) / len(choices))
        assert pass_hat_k(n, c, k) == pytest.approx(sum(map(all, choices)) / len(choices))


def test_with_too_few_iterations_there_is_no_number():
    assert pass_at_k(3, 1, 4) is None
    assert pass_hat_k(0, 0, 1) is None


def test_wilson_intervals_and_what_they_say():
    three = evidence(3, 3, 1.0)
    assert three.interval is not None
    assert (round(three.interval.low, 2), round(three.interval.high, 2)) == (0.44, 1.0)
    assert evidence(10, 10, 1.0).interval.low == pytest.approx(0.72, abs=0.005)
    assert evidence(10, 15, 0.5).verdict == "too few iterations to tell"
    assert evidence(0, 20, 0.5).verdict == "the rate is lower than required"
    assert evidence(40, 40, 0.5).verdict == "the rate is as high as required"
    assert evidence(0, 0, 0.5).verdict == "nothing was run"


def test_both_ends_say_what_is_excluded():
    """A required rate of 1 is never proved, however many iterations pass."""
    assert evidence(3, 3, 1.0).verdict == "all passed so far; rates below 0.44 are excluded"
    assert evidence(1000, 1000, 1.0).verdict == "all passed so far; rates below 0.996 are excluded"
    assert evidence(2, 3, 1.0).verdict == "the rate is lower than required"
    assert evidence(0, 2, 0.5).verdict == "none passed so far; rates above 0.66 are excluded"
    assert evidence(0, 2, 0.0).verdict == "no success is required"


def test_small_amounts_have_one_form():
    told = {
        0: "0.00",
        1e-8: "< 0.001",
        0.0044: "0.004",
        0.625: "0.62",
        0.996: "0.996",
        1 - 1e-8: "> 0.999",
        1: "1.00",
    }
    assert {rate: format_rate(rate) for rate in told} == told
    for ends, text in {
        (0, 1e-8): "0.00 to < 0.001",
        (0.0, 0.0044): "0.000 to 0.004",
        (0.2, 0.5): "0.20 to 0.50",
    }.items():
        assert format_limits(*ends) == text
    *_, ten = at_k([(0, 20)])
    assert (ten.k, ten.all_text, ten.all_interval) == (10, "0.00", "0.00 to < 0.001")


def test_a_rate_that_stopped_early_has_no_interval():
    found = evidence(1, 1, 0.5, early_stop=True)
    assert (found.rate, found.interval) == (1.0, None)
    assert found.verdict == "stopped early: no estimate of the rate"
    early = rates((1, 1), (0, 9), early_stop=True)
    assert (early.p, early.difference) == (None, -1.0)
    assert compare_pairs(NAMES, [(True, False)] * 9, early_stop=True).p is None


NAMES = ("old", "new")


def rates(first, second, **more):
    return compare_rates(Side("old", *first), Side("new", *second), **more)


def test_pairs_are_compared_by_those_that_changed():
    found = compare_pairs(NAMES, [(True, True)] * 50 + [(True, False)] * 6 + [(False, False)] * 4)
    assert (found.first_count, found.second_count) == ("56/60", "50/60")
    assert (found.n, found.only_first, found.only_second) == (60, 6, 0)
    assert found.p == pytest.approx(2 / 2**6)  # six tosses of a coin, all on one side
    assert found.difference == pytest.approx(-0.1)
    assert compare_pairs(NAMES, [(True, True)] * 3).p == 1.0
    assert compare_pairs(NAMES, []).p is None
    assert found.p < rates((56, 60), (50, 60)).p


def test_two_rates_are_compared_exactly():
    found = rates((8, 10), (2, 10))
    assert found.difference == pytest.approx(-0.6)
    assert found.p == pytest.approx(0.0230, abs=0.0005)  # 2 x 2 table 8 2 / 2 8, two-sided
    assert rates((3, 3), (3, 3)).p == 1.0
    assert rates((0, 0), (1, 2)).p is None


def test_errors_are_in_no_rate_and_said_beside_it():
    some = evidence(3, 8, 0.5, errors=2)
    assert (some.rate, some.count, some.sentence) == (
        0.375,
        "3/8, 2 errors",
        "3 of 8 iterations passed, 2 errors",
    )
    assert some.interval == evidence(3, 8, 0.5).interval
    none = evidence(0, 0, 0.5, errors=10)
    assert (none.rate, none.interval) == (None, None)
    assert none.verdict == none.count == none.count_with_interval == none.sentence == "no verdict: 10 errors"
    assert evidence(0, 0, 0.5, errors=1, early_stop=True).verdict == "no verdict: 1 error"


def test_k_iterations_of_one_case_carry_wilsons_interval_along():
    rows = {row.k: row for row in at_k([(2, 4)])}
    assert list(rows) == [1, 2, 3]
    assert (round(rows[2].any, 4), round(rows[2].all, 4)) == (0.8333, 0.1667)
    assert rows[1].any_low == pytest.approx(rows[1].all_low)
    assert rows[2].any_low == pytest.approx(1 - (1 - rows[1].any_low) ** 2)
    assert rows[2].all_high == pytest.approx(rows[1].any_high ** 2)


def test_k_iterations_of_several_cases_are_a_mean_over_the_same_cases_for_every_k():
    rows = {row.k: row for row in at_k([(1, 1), (2, 4), (0, 4), (0, 0)])}
    assert [(k, row.cases, row.of) for k, row in rows.items()] == [(1, 2, 4), (2, 2, 4), (3, 2, 4)]
    assert rows[1].any == pytest.approx(0.25)
    assert rows[2].all == pytest.approx((1 / 6 + 0) / 2)
    assert at_k([]) == at_k([(0, 0)]) == []


@pytest.mark.parametrize(
    ("counts", "most", "n"),
    [
        ([(1, 1)] * 3, 1, 3),
        ([(1, 1), (1, 10)], 10, 1),
        ([(1, 1), (1, 1), (1, 10)], 1, 3),
        ([(1, 2), *[(1, 10)] * 3], 10, 3),
    ],
)
def test_k_goes_as_far_as_half_of_the_cases(counts, most, n):
    rows = at_k(counts)
    assert (rows[-1].k, {row.cases for row in rows}) == (most, {n})


@pytest.mark.parametrize("passed", [0, 5, 10])
def test_the_interval_of_one_case_has_a_width_and_contains_the_estimate(passed):
    for row in at_k([(passed, 10)]):
        assert row.any_low < row.any_high
        assert row.any_low <= row.any <= row.any_high
        assert row.all_low < row.all_high
        assert row.all_low <= row.all <= row.all_high
        for text in (row.any_interval, row.all_interval):
            low, high = text.split(" to ")
            assert low != high


def test_several_cases_have_means_without_intervals():
    for row in at_k([(5, 10), (7, 10)]):
        assert [row.any_low, row.any_high, row.all_low, row.all_high] == [None] * 4
        assert (row.any_interval, row.all_interval) == ("", "")


def test_an_interval_never_looks_like_a_point():
    assert evidence(1000, 1000, 1.0).count_with_interval == "1000/1000 (0.996 to 1.000)"
    assert evidence(3, 8, 1.0).count_with_interval == "3/8 (0.14 to 0.69)"
