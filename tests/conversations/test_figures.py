"""Intervals, pass@k and pass^k, and comparing two rates."""

from __future__ import annotations

import itertools

import pytest

from gym.conversations.figures import compare, evidence, is_flaky, pass_at_k, pass_hat_k


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
    assert three.verdict == "too few iterations to tell"
    assert evidence(0, 20, 0.5).verdict == "the rate is lower than required"
    assert evidence(40, 40, 0.5).verdict == "the rate is as high as required"
    assert evidence(0, 0, 0.5).verdict == "nothing was run"


def test_two_rates_are_compared_exactly():
    found = compare((8, 10), (2, 10))
    assert found.difference == pytest.approx(-0.6)
    assert found.p == pytest.approx(0.0230, abs=0.0005)  # 2 x 2 table 8 2 / 2 8, two-sided
    assert compare((3, 3), (3, 3)).p == 1.0
    assert compare((0, 0), (1, 2)).p is None


def test_flaky_is_both_pass_and_not():
    assert is_flaky(["pass", "fail"])
    assert is_flaky(["pass", "timeout"])
    assert not is_flaky(["pass", "pass", "skipped"])
    assert not is_flaky(["fail", "error"])
