"""Intervals of rates and means: Wilson's interval, items with several predictions, test against chance, means over
suites."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Z95 = 1.959963984540054
ROUNDING = 1e-9
"""Bits or shares that differ by less count as equal: thirds and sums of logarithms are rounded."""


def all_alike(values: Floats) -> bool:
    """Return whether values differ only by rounding, so that there is no spread and no interval."""
    return float(np.ptp(values)) <= ROUNDING


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


def wilson(passed: int, total: int, confidence: float = 0.95) -> Interval | None:
    """Compute the Wilson score interval of a rate (Wilson 1927); None for total = 0."""
    if total == 0:
        return None
    from scipy.stats import binomtest

    interval = binomtest(passed, total).proportion_ci(confidence_level=confidence, method="wilson")
    return Interval(float(interval.low), float(interval.high))


@dataclass(frozen=True)
class Mean:
    n: int
    mean: float | None
    low: float | None
    high: float | None


def mean_interval(values: NDArray[np.float64], confidence: float = 0.95) -> Mean:
    """Compute the mean of values that are not NaN, with Student's t interval.

    The interval is None for fewer than two values or equal values. If no value is negative, as with surprisals, the
    interval is cut off at 0, which excludes no possible mean and so keeps its coverage.
    """
    kept = values[~np.isnan(values)]
    n = int(kept.size)
    if n == 0:
        return Mean(0, None, None, None)
    mean = float(kept.mean())
    if n == 1 or all_alike(kept):
        return Mean(n, mean, None, None)
    from scipy.stats import t

    half = float(t.ppf(0.5 + confidence / 2, n - 1)) * float(kept.std(ddof=1)) / n**0.5
    return Mean(n, mean, _lower(mean - half, kept), mean + half)


def _lower(limit: float, values: NDArray[np.float64]) -> float:
    return max(0.0, limit) if values.min() >= 0 else limit


def within_item_intervals(values: NDArray[np.float64], confidence: float = 0.95) -> list[Mean]:
    """Compute one mean per condition with its within-item interval (Cousineau 2005, corrected by Morey 2008).

    With y[i, j] the value of item i in condition j, n items and c conditions:

        z[i, j] = y[i, j] - mean(y[i, :]) + mean(y)          differences between items are removed
        var[j]  = c / (c - 1) * variance(z[:, j], ddof=1)    Morey's correction: z of few conditions vary too little
        mean(y[:, j]) +- t(n - 1) * sqrt(var[j] / n)

    For two conditions the half width is that of the paired t interval of their difference, divided by sqrt(2). The
    interval shows differences between conditions, not the precision of each mean. It is cut off at 0 like that of
    `mean_interval`.

    Args:
        values: items x conditions; items with a missing condition (NaN) are dropped.

    Returns:
        One Mean per condition with the number of remaining items. The interval is None for fewer than two items or
        conditions, or if the z of a condition are equal.

    Cousineau (2005), Tutorials in Quantitative Methods for Psychology 1, 42-45; Morey (2008), ibid. 4, 61-64.
    """
    kept = values[~np.isnan(values).any(axis=1)]
    n, conditions = kept.shape
    if n == 0:
        return [Mean(0, None, None, None)] * conditions
    means = kept.mean(axis=0)
    if n == 1 or conditions < 2:
        return [Mean(n, float(mean), None, None) for mean in means]
    from scipy.stats import t

    levelled = kept - kept.mean(axis=1, keepdims=True) + kept.mean()
    variances = levelled.var(axis=0, ddof=1) * conditions / (conditions - 1)
    halves = float(t.ppf(0.5 + confidence / 2, n - 1)) * np.sqrt(variances / n)
    return [
        Mean(n, float(mean), None, None)
        if all_alike(column)
        else Mean(n, float(mean), _lower(float(mean - half), kept), float(mean + half))
        for mean, half, column in zip(means, halves, levelled.T, strict=True)
    ]


def score_interval(rate: float, n: float, z: float = Z95) -> Interval | None:
    """Compute Wilson's score interval (Wilson 1927) of a rate over `n` items; None for n = 0.

    For an effective number of items, see `effective_n`, it is the interval of Dean and Pagano (2015) for clustered
    observations.
    """
    if n <= 0:
        return None
    square = z * z
    middle = (rate + square / (2 * n)) / (1 + square / n)
    half = z * math.sqrt(rate * (1 - rate) / n + square / (4 * n * n)) / (1 + square / n)
    low = 0.0 if rate <= 0 else max(0.0, middle - half)  # rounding gives 1e-17 and 1 - 2e-16 at the ends
    return Interval(low, 1.0 if rate >= 1 else min(1.0, middle + half))


def n_of_interval(rate: float, low: float, high: float, z: float = Z95) -> float:
    """Recover `n` from the limits of a `score_interval`.

    With s = z²/n the limits are the roots of (x - rate)² = s x (1 - x), so low * high = rate² / (1 + s) and
    (1 - low)(1 - high) = (1 - rate)² / (1 + s); the larger product is more accurate.
    """
    spread = rate * rate / (low * high) if rate > 0.5 else (1 - rate) ** 2 / ((1 - low) * (1 - high))
    return z * z / (spread - 1)


def effective_n(shares: NDArray[np.float64], predictions: int = 1) -> float:
    """Compute the effective number of independent binary observations of items with several predictions.

    Kish's design effect: the variance of the mean under independence divided by the observed variance between items.

    Args:
        shares: share of passed predictions of each item, 0 to 1.
        predictions: predictions per item.

    Returns:
        A number between the number of items (with one prediction) and items times `predictions`.
    """
    n = int(shares.size)
    if n == 0:
        return 0.0
    rate = float(shares.mean())
    variance = float(shares.var()) / n
    independent = rate * (1 - rate)
    if variance <= 1e-12:
        return float(n)
    return min(max(float(n), independent / variance), float(n * predictions))


def tail_above(rate: float, n: float, chance: float) -> float | None:
    """Compute the one-sided p of a rate at least this high if every item passes with probability `chance`.

    This is the exact binomial tail, continued by the incomplete beta function for an effective (fractional) `n`. None
    for n = 0.
    """
    if n <= 0:
        return None
    passed = rate * n
    if passed <= 0:
        return 1.0
    if chance <= 0:
        return 0.0
    if chance >= 1:
        return 1.0
    from scipy.special import betainc

    return float(betainc(passed, n - passed + 1, chance))


def rate_difference(first: float, limits: Interval, second: float, others: Interval) -> Interval:
    """Compute the interval of (second − first) from the limits of two independent rates (Newcombe 1998, method 10)."""
    difference = second - first
    below = math.hypot(second - others.low, limits.high - first)
    above = math.hypot(others.high - second, first - limits.low)
    return Interval(max(-1.0, difference - below), min(1.0, difference + above))


PRIOR_ITEMS = 1.0
"""Number of items that pass at the mean rate and are added to a suite to estimate its variance: a rate of 0 or 1 in a
sample of 20 does not imply a variance of 0."""


def weighted_mean(
    rates: Sequence[float], sizes: Sequence[float], weights: Sequence[float], factor: float = 1.0
) -> tuple[float, Interval] | None:
    """Compute a weighted mean of rates of suites with its interval; items are random, suites are fixed.

    This is Wilson's interval of the mean m with the number of items that gives the variance of the mean. With shares w
    of the weights, sizes n, and h[j] the share of suite j in the sum of w²/n:

        r[j] = (n[j] * rate[j] + m) / (n[j] + 1)                see PRIOR_ITEMS
        v    = sum of w[j]² * r[j] * (1 - r[j]) / (n[j] - 1 + h[j])
        n    = m * (1 - m) / (v * factor²)

    For one suite it is the suite's own interval. Unlike MOVER (Zou and Donner 2008), which adds the distances between
    rates and limits, it covers the true mean in about 95 of 100 samples even if many suites have rates near 0 or 1
    (`python -m benchmarks.intervals`).

    Args:
        sizes: number of items, or effective number of items, of each suite; at least 1.
        factor: ratio of the standard error to that of independent items, see `shared_factor`.

    Returns:
        The mean and its interval; None if all weights are 0.
    """
    total = math.fsum(weights)
    if total <= 0:
        return None
    shares = np.asarray(weights, dtype=np.float64) / total
    counts, values = np.asarray(sizes, dtype=np.float64), np.asarray(rates, dtype=np.float64)
    known = shares > 0  # suites of weight 0 may have no items
    shares, counts, values = shares[known], counts[known], values[known]
    mean = _unit(math.fsum(shares * values))
    spread = shares**2 / counts
    # A sample variance divides by n - 1; for a single suite no separate mean is estimated.
    freedom = np.maximum(counts - 1 + spread / spread.sum(), counts / 2)
    if mean in (0.0, 1.0):
        n = 1 / float((shares**2 / freedom).sum())
    else:
        levelled = (counts * values + PRIOR_ITEMS * mean) / (counts + PRIOR_ITEMS)
        n = mean * (1 - mean) / float((shares**2 * levelled * (1 - levelled) / freedom).sum())
    interval = score_interval(mean, n / factor**2)
    assert interval is not None  # n is above 0
    return mean, interval


def deviations(strata: Sequence[Floats], weights: Sequence[float]) -> Floats:
    """Compute the contribution of each item to the error of a weighted mean over suites.

    It is w[j] * (x[i] - mean of suite j) / n[j].

    Args:
        strata: for each suite the values of its items, at least one.
        weights: add up to 1.

    Returns:
        float64, the suites concatenated.
    """
    return np.concatenate(
        [
            weight * (values - values.mean()) / values.size
            for values, weight in zip(strata, weights, strict=True)
        ]
    )


def shared_factor(
    strata: Sequence[Floats], weights: Sequence[float], groups: Sequence[Ints], rest: float = 0.0
) -> float:
    """Compute the factor by which shared material of suites increases the standard error of their weighted mean.

    This is the square root of the cluster-robust variance (Liang and Zeger 1986) over that of independent items:
    deviations of items in the same group are added before they are squared. It is at least 1, because an estimate from
    few groups may be smaller by chance.

    Args:
        strata: for each suite the values of its items, 0 to 1.
        weights: weights of the suites; those of all suites of the mean add up to 1.
        groups: for each suite the groups of its items; equal numbers in two suites mean shared material.
        rest: variance of the mean due to other suites, whose items share nothing.
    """
    item_deviations = deviations(strata, weights)
    independent = float(item_deviations @ item_deviations) + rest
    if independent < 1e-15:
        return 1.0
    together = group_sums(item_deviations, np.concatenate(list(groups)))
    return max(1.0, math.sqrt((float(together @ together) + rest) / independent))


def group_sums(values: Floats, groups: Ints) -> Floats:
    """Sum the values of each group."""
    sums = np.bincount(np.unique(groups, return_inverse=True)[1], weights=values)
    return sums.astype(np.float64)


def _unit(rate: float) -> float:
    """Remove rounding errors at 0 and 1."""
    return 0.0 if rate < 1e-12 else 1.0 if rate > 1 - 1e-12 else rate
