"""Intervals, pass@k and pass^k, and comparing two rates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lmgym.agents.pass_rates import (
    compare,
    compare_paired,
    evidence,
    interval_told,
    pass_at_k,
    pass_hat_k,
    rate_told,
    repeats,
)
from lmgym.stats.intervals import Interval


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
    """A required rate of 1 is never shown to be reached, however many pass."""
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
    assert {rate: rate_told(rate) for rate in told} == told
    for ends, text in {
        (0, 1e-8): "[0.00, < 0.001]",
        (0.0, 0.0044): "[0.000, 0.004]",
        (0.2, 0.5): "[0.20, 0.50]",
    }.items():
        assert interval_told(Interval(*ends)) == text
    *_, ten = repeats([(0, 20)])
    assert (ten.k, *ten.all_told) == (10, "0.00", "[0.00, < 0.001]")


def test_a_rate_that_stopped_early_has_no_interval():
    found = evidence(1, 1, 0.5, early_stop=True)
    assert (found.rate, found.interval) == (1.0, None)
    assert found.verdict == "stops once it is decided: no estimate of the rate"
    assert compare((1, 1), (0, 9), early_stop=True).p is None
    assert compare((1, 1), (0, 9), early_stop=True).difference == -1.0
    assert compare_paired([(True, False)] * 9, early_stop=True).p is None


def test_pairs_are_compared_by_those_that_changed():
    found = compare_paired([(True, True)] * 50 + [(True, False)] * 6 + [(False, False)] * 4)
    assert (found.first, found.second, found.changed) == ((56, 60), (50, 60), (0, 6))
    assert found.p == pytest.approx(2 / 2**6)  # six tosses of a coin, all on one side
    assert found.difference == pytest.approx(-0.1)
    assert compare_paired([(True, True)] * 3).p == 1.0
    assert compare_paired([]).p is None
    assert found.p < compare((56, 60), (50, 60)).p


def test_two_rates_are_compared_exactly():
    found = compare((8, 10), (2, 10))
    assert found.difference == pytest.approx(-0.6)
    assert found.p == pytest.approx(0.0230, abs=0.0005)  # 2 x 2 table 8 2 / 2 8, two-sided
    assert compare((3, 3), (3, 3)).p == 1.0
    assert compare((0, 0), (1, 2)).p is None


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
    rows = {row.k: row for row in repeats([(2, 4)])}
    assert list(rows) == [1, 2, 3]
    assert (round(rows[2].any, 4), round(rows[2].all, 4)) == (0.8333, 0.1667)
    one = rows[1].any_interval
    assert one.low == pytest.approx(rows[1].all_interval.low)
    assert rows[2].any_interval.low == pytest.approx(1 - (1 - one.low) ** 2)
    assert rows[2].all_interval.high == pytest.approx(one.high**2)


def test_k_iterations_of_several_cases_are_a_mean_over_the_same_cases_for_every_k():
    rows = {row.k: row for row in repeats([(1, 1), (2, 4), (0, 4), (0, 0)])}
    assert [(k, row.n, row.of) for k, row in rows.items()] == [(1, 2, 4), (2, 2, 4), (3, 2, 4)]
    assert rows[1].any == pytest.approx(0.25)
    assert rows[2].all == pytest.approx((1 / 6 + 0) / 2)
    assert repeats([]) == repeats([(0, 0)]) == []


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
    rows = repeats(counts)
    assert (rows[-1].k, {row.n for row in rows}) == (most, {n})


def test_of_one_iteration_of_every_case_as_many_it_is_the_interval_of_all_of_them():
    found = repeats([(0, 10), (7, 10)])[0]
    pooled = evidence(7, 20, 1.0).interval
    for interval in (found.any_interval, found.all_interval):
        assert (interval.low, interval.high) == (pytest.approx(pooled.low), pytest.approx(pooled.high))


@pytest.mark.parametrize("passed", [0, 5, 10])
@pytest.mark.parametrize("cases", [1, 2, 30])
def test_no_interval_is_without_a_width(passed, cases):
    for row in repeats([(passed, 10)] * cases):
        for rate, interval in ((row.any, row.any_interval), (row.all, row.all_interval)):
            assert interval.low < interval.high, (row.k, cases)
            assert interval.low - 1e-9 <= rate <= interval.high + 1e-9
        for _, told in (row.any_told, row.all_told):
            low, high = told.strip("[]").split(", ")
            assert low != high


def test_an_interval_never_looks_like_a_point():
    assert evidence(1000, 1000, 1.0).count_with_interval == "1000/1000 [0.996, 1.000]"
    assert evidence(3, 8, 1.0).count_with_interval == "3/8 [0.14, 0.69]"


def test_cases_with_few_iterations_make_it_wider():
    few, many = repeats([(5, 10), (5, 10)])[0], repeats([(50, 100), (50, 100)])[0]
    mixed = repeats([(5, 10), (50, 100)])[0]
    few, mixed, many = (row.any_interval.high - row.any_interval.low for row in (few, mixed, many))
    assert few > mixed > many


@pytest.mark.parametrize(
    "rates",
    [[0.5] * 4, [0.05, 0.3, 0.6, 0.9], [0.0] * 5 + [1.0] * 5, [0.97] * 9 + [0.3]],
    ids=["alike", "spread", "never and always", "one is hard"],
)
def test_the_intervals_of_several_cases_cover(rates):
    """At 95% they hold the truth in about 95 of 100 runs, and in more where cases differ."""
    rates, made = np.array(rates), 10
    passed = np.random.default_rng(17).binomial(made, rates, (400, len(rates)))
    held: dict[tuple[int, str], list[bool]] = {}
    for counts in passed:
        for row in repeats([(int(count), made) for count in counts]):
            for name, interval, truth in (
                ("any", row.any_interval, (1 - (1 - rates) ** row.k).mean()),
                ("all", row.all_interval, (rates**row.k).mean()),
            ):
                held.setdefault((row.k, name), []).append(
                    interval.low - 1e-9 <= truth <= interval.high + 1e-9
                )
    assert {k for k, _ in held} == {1, 2, 3, 5, 10}
    assert all(np.mean(found) >= 0.92 for found in held.values()), held
