"""Intervals of mean surprisals: their lower limits are at least 0, and within items they are Cousineau's with
Morey's correction.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.anova import AnovaRM

from lmgym.stats.intervals import mean_interval, within_item_intervals

ITEMS = np.array(
    [[10.0, 13.0, 13.0], [6.0, 8.0, 8.0], [11.0, 14.0, 14.0], [22.0, 23.0, 25.0], [16.0, 18.0, 20.0]]
)


def half(mean):
    return (mean.high - mean.low) / 2


def test_an_interval_of_surprisals_ends_at_zero():
    found = mean_interval(np.array([0.1, 0.2, 9.0]))
    assert (found.low, found.mean) == (0.0, pytest.approx(3.1))
    assert found.high == pytest.approx(3.1 + stats.t.ppf(0.975, 2) * stats.sem([0.1, 0.2, 9.0]))
    assert mean_interval(np.array([-0.1, 0.2, 9.0])).low < 0  # margins may be negative


def test_items_that_are_alike_have_no_interval():
    found = mean_interval(np.array([0.1 + 0.2, 0.3, 0.3]))
    assert (found.n, found.mean, found.low, found.high) == (3, pytest.approx(0.3), None, None)
    moved = np.column_stack([ITEMS[:, 0], ITEMS[:, 0] + 0.7, ITEMS[:, 0] + 1])
    first, second, third = within_item_intervals(moved)
    assert {one.low for one in (first, second, third)} == {None}
    assert second.mean == pytest.approx(ITEMS[:, 0].mean() + 0.7)


def test_by_hand():
    """Two items, two conditions: y = [[1, 3], [5, 9]], item means 2 and 7, grand mean 4.5, so z = [[3.5, 5.5],
    [2.5, 6.5]]; variances 0.5, times 2/(2-1) = 1; half width 12.7062 * sqrt(1/2) = 8.9846."""
    first, second = within_item_intervals(np.array([[1.0, 3.0], [5.0, 9.0]]))
    assert (first.n, first.mean, second.mean) == (2, 3.0, 6.0)
    assert second.high - second.mean == first.high - first.mean == pytest.approx(8.9846, abs=1e-4)


def test_two_conditions_give_the_paired_interval_over_the_square_root_of_two():
    pair = ITEMS[:, :2]
    interval = stats.ttest_rel(pair[:, 1], pair[:, 0]).confidence_interval(0.95)
    for mean in within_item_intervals(pair):
        assert half(mean) == pytest.approx((interval.high - interval.low) / 2 / 2**0.5)


def test_variances_average_to_the_error_of_the_repeated_measures_analysis():
    """Loftus and Masson's interval takes the mean square of items x conditions; Morey's variances average to it."""
    n, c = ITEMS.shape
    long = pd.DataFrame(
        [(i, j, ITEMS[i, j]) for i in range(n) for j in range(c)], columns=["item", "condition", "bits"]
    )
    table = AnovaRM(long, "bits", "item", within=["condition"]).fit().anova_table
    between = n * ITEMS.mean(axis=0).var(ddof=1)
    error = between / table["F Value"].iloc[0]
    t = stats.t.ppf(0.975, n - 1)
    variances = [(half(mean) / t) ** 2 * n for mean in within_item_intervals(ITEMS)]
    assert np.mean(variances) == pytest.approx(error)


def test_items_that_lack_a_condition_are_left_out_of_all():
    gap = np.vstack([ITEMS, [5.0, np.nan, 4.0]])
    assert within_item_intervals(gap) == within_item_intervals(ITEMS)


@pytest.mark.parametrize("values", [ITEMS[:1], ITEMS[:, :1]])
def test_one_item_or_one_condition_has_no_interval(values):
    assert all(mean.low is None and mean.mean is not None for mean in within_item_intervals(values))
    assert within_item_intervals(np.full((3, 2), np.nan))[0].mean is None
