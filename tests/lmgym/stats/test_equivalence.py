"""Equivalence of two pass rates within a stated bound, and the warning about skewed margins of few items."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multinomial, norm, skew

from lmgym.stats import equivalence_p, is_skewed_for_its_size
from lmgym.stats.equivalence import _score

ONLY_FIRST = (0.0, 0.05)
"""Probabilities that only the first gets an item right, at the bound."""


def size(n: int, bound: float, first_alone: float) -> float:
    """Return the probability of p < .05 if the true difference is at the bound, over all possible samples."""
    second, first = (grid.ravel() for grid in np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij"))
    kept = second + first <= n
    second, first = second[kept], first[kept]
    second_alone = first_alone + bound
    weights = multinomial.pmf(
        np.stack([second, first, n - second - first], axis=1),
        n,
        [second_alone, first_alone, 1 - second_alone - first_alone],
    )
    p = np.array([equivalence_p(int(a), int(b), n, bound) for a, b in zip(first, second, strict=True)])
    return float(weights[p < 0.05].sum())


@pytest.mark.parametrize(("n", "most"), [(20, 0.0692), (28, 0.0628), (60, 0.058)])
def test_rates_that_differ_by_the_bound_are_called_equivalent_as_seldom_as_is_said(n, most):
    sizes = [size(n, bound, alone) for bound in (0.15, 0.2, 0.3) for alone in ONLY_FIRST]
    assert max(sizes) <= most


def test_with_many_items_the_size_is_five_in_a_hundred():
    assert size(100, 0.2, 0.05) == pytest.approx(0.05, abs=0.005)


@pytest.mark.parametrize(("only_first", "only_second"), [(1, 4), (7, 2), (9, 9)])
@pytest.mark.parametrize("difference", [-0.2, -0.05, 0.1])
def test_the_statistic_is_the_score_at_the_restricted_maximum(only_first, only_second, difference):
    n = 40

    def loss(q: float) -> float:
        rest = 1 - 2 * q - difference
        both = only_first * np.log(q) + only_second * np.log(q + difference)
        return -(both + (n - only_first - only_second) * np.log(rest))

    limits = max(0.0, -difference) + 1e-9, (1 - difference) / 2 - 1e-9
    q = minimize_scalar(loss, bounds=limits, method="bounded", options={"xatol": 1e-11}).x
    variance = n * (2 * q + difference * (1 - difference))
    expected = (only_second - only_first - n * difference) / np.sqrt(variance)
    assert _score(only_first, only_second, n, difference) == pytest.approx(expected, abs=1e-5)


def test_runs_that_agree_on_every_item_are_equivalent_as_far_as_the_items_say():
    assert equivalence_p(0, 0, 28, 0.1) == pytest.approx(norm.sf((28 * 0.1 / 0.9) ** 0.5))
    assert equivalence_p(0, 0, 10, 0.1) > 0.05
    assert equivalence_p(3, 4, 100, 0.1) == pytest.approx(equivalence_p(4, 3, 100, 0.1))


@pytest.mark.parametrize(
    "arguments", [(0, 0, 0, 0.1), (3, 3, 5, 0.1), (-1, 0, 5, 0.1), (0, 0, 5, 0), (0, 0, 5, 1)]
)
def test_counts_and_bounds_that_cannot_be_are_refused(arguments):
    with pytest.raises(ValueError, match=r"are impossible|must be between"):
        equivalence_p(*arguments)


# --- skewed margins


def named(draw, n: int, times: int = 500) -> float:
    return sum(is_skewed_for_its_size(list(row)) for row in draw((times, n))) / times


@pytest.mark.parametrize(("n", "lognormal", "normal"), [(12, 0.73, 0.10), (28, 0.92, 0.02), (60, 0.91, 0.0)])
def test_long_tails_are_named_and_normal_margins_are_not(n, lognormal, normal):
    rng = np.random.default_rng(5)
    assert named(lambda shape: rng.lognormal(0, 1, shape), n) == pytest.approx(lognormal, abs=0.06)
    assert named(lambda shape: -rng.lognormal(0, 1, shape), n) == pytest.approx(lognormal, abs=0.06)
    assert named(lambda shape: rng.normal(size=shape), n) == pytest.approx(normal, abs=0.04)


def test_its_skewness_is_that_of_scipy():
    rng = np.random.default_rng(6)
    for row in rng.lognormal(0, 0.4, (50, 15)):
        found = abs(skew(row, bias=False))
        assert is_skewed_for_its_size(list(row)) == (found > 1 and 25 * found**2 > 15)


def test_many_items_few_items_and_equal_margins_are_not_named():
    rng = np.random.default_rng(5)
    assert named(lambda shape: rng.exponential(size=shape), 1000, 100) == 0.0
    assert not is_skewed_for_its_size([0.0, 0.0, 0.0, 50.0])
    assert not is_skewed_for_its_size([1.0] * 20)
    assert not is_skewed_for_its_size([None, float("inf"), *[1.0] * 20])
    assert not is_skewed_for_its_size([])
