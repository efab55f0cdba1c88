"""Paired comparisons of two models, or two revisions of one, on the same items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .intervals import (
    ROUNDING,
    all_alike,
    deviations,
    effective_n,
    group_sums,
    shared_factor,
    weighted_mean,
)
from .resampling import drawn_sums, percentile_interval

RESAMPLES = 9_999


@dataclass(frozen=True)
class McNemar:
    """Numbers of items that only the first or only the second model got right, and the exact two-sided p."""

    only_first: int
    only_second: int
    p: float


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """Apply McNemar's exact test (a sign test on items that differ); p = 1 if none differs."""
    pairs = list(zip(first, second, strict=True))
    only_first = sum(a and not b for a, b in pairs)
    only_second = sum(b and not a for a, b in pairs)
    return McNemar(only_first, only_second, mcnemar_p(only_first, only_second))


def mcnemar_p(only_one: int, only_other: int) -> float:
    """Compute the exact two-sided p from the numbers of items that only one side got right; 1 without any."""
    from scipy.stats import binomtest

    differing = only_one + only_other
    return float(binomtest(only_one, differing).pvalue) if differing else 1.0


@dataclass(frozen=True)
class Difference:
    """Mean of (second − first) over the common items. Without items, all but `n` are None.

    Attributes:
        low, high: interval; for margins, None for fewer than two items or equal differences.
        effect_size_g: Cohen's d of paired values (mean over standard deviation of the differences), with Hedges'
            correction; None for fewer than three items, equal differences, or several suites.
    """

    n: int
    mean: float | None
    low: float | None
    high: float | None
    effect_size_g: float | None


def paired_difference(
    first: Sequence[float | None],
    second: Sequence[float | None],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Difference:
    """Compute the mean paired difference with a bootstrap interval over items.

    Args:
        first, second: values of the same items; items without a value on either side are dropped.
    """
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    values = np.array([b - a for a, b in pairs], dtype=np.float64)
    values = values[np.isfinite(values)]
    n = int(values.size)
    if n == 0:
        return Difference(0, None, None, None, None)
    limits = bootstrap_mean(values, confidence, resamples, seed)
    low, high = limits if limits is not None else (None, None)
    return Difference(n, float(values.mean()), low, high, standardised(values))


def bootstrap_mean(
    values: NDArray[np.float64],
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
    weights: NDArray[np.float64] | None = None,
) -> tuple[float, float] | None:
    """Compute the expanded percentile interval of a mean (Hesterberg 2015), widened for small n like Student's t.

    Args:
        weights: of the values, such as the number of observations that each is a mean of; drawn together with them.

    Returns:
        None for fewer than two values, or equal values.
    """
    n = int(values.size)
    if n < 2 or all_alike(values):
        return None
    from scipy.stats import norm, t

    shares = np.ones(n) if weights is None else weights
    sums, totals = drawn_sums([shares * values, shares], resamples, np.random.default_rng(seed))
    tail = float(norm.cdf(t.ppf((1 - confidence) / 2, n - 1) * (n / (n - 1)) ** 0.5))
    limits = percentile_interval(sums / totals, tail)
    return limits.low, limits.high


def standardised(values: NDArray[np.float64]) -> float | None:
    """Compute mean / standard deviation with Hedges' correction 1 − 3/(4(n−1) − 1).

    Returns None for fewer than three values, or equal values.
    """
    n = int(values.size)
    if n < 3 or all_alike(values):
        return None
    return float(values.mean()) / float(values.std(ddof=1)) * (1 - 3 / (4 * (n - 1) - 1))


def paired_rates(
    first: Sequence[NDArray[np.float64]],
    second: Sequence[NDArray[np.float64]],
    per_item: Sequence[tuple[int, int]],
    weights: Sequence[float] | None = None,
    groups: Sequence[NDArray[np.int64]] | None = None,
) -> Difference:
    """Compute the difference (second − first) of two pass rates, or weighted means of rates, over the same items.

    Newcombe's interval for paired rates (1998, Statistics in Medicine 17, 2635-2650, method 10), with the interval of
    `weighted_mean` for each side: with l1, u1 around m1, l2, u2 around m2, and f the correlation of the two means,

        lower = d - sqrt((m2 - l2)² - 2 f (m2 - l2) (u1 - m1) + (u1 - m1)²)
        upper = d + sqrt((u2 - m2)² - 2 f (u2 - m2) (m1 - l1) + (m1 - l1)²)

    As in that method, a positive covariance of one suite is reduced by 1/(2n), but not below 0, before f is computed;
    that of J suites by 1/J of the sum of their reductions. The interval is defined even if no item differs, or all
    items have the same value.

    Args:
        first, second: for each suite the values of its items on either side, 0 to 1, in the same order.
        per_item: for each suite the number of outcomes of an item on either side.
        weights: weights of the suites, by default equal. Suites without items or of weight 0 are ignored.
        groups: for each suite the groups of its items, see `shared_factor`; by default items are independent.

    Returns:
        Difference with the number of items of all suites that are not ignored.
    """
    suite_weights = [1.0] * len(first) if weights is None else list(weights)
    rows = [
        k
        for k, (values, weight) in enumerate(zip(first, suite_weights, strict=True))
        if values.size and weight > 0
    ]
    if not rows:
        return Difference(0, None, None, None, None)
    total = sum(suite_weights[k] for k in rows)
    shares = [suite_weights[k] / total for k in rows]
    ids = None if groups is None else [groups[k] for k in rows]
    sides, errors, spreads = [], [], []
    for values, place in ((first, 0), (second, 1)):
        strata = [values[k] for k in rows]
        sizes = [effective_n(values[k], per_item[k][place]) for k in rows]
        factor = 1.0 if ids is None else shared_factor(strata, shares, ids)
        mean = weighted_mean([float(stratum.mean()) for stratum in strata], sizes, shares, factor)
        assert mean is not None  # all shares are positive
        item_deviations = deviations(strata, shares)
        sides.append(mean)
        errors.append(item_deviations if ids is None else group_sums(item_deviations, np.concatenate(ids)))
        spreads.append(math.sqrt(float(errors[-1] @ errors[-1])))
    reductions = [share**2 / (2 * first[k].size ** 2) for share, k in zip(shares, rows, strict=True)]
    covariance = float(errors[0] @ errors[1])
    if covariance > 0:
        covariance = max(0.0, covariance - sum(reductions) / len(rows))
    has_spread = min(spreads) > ROUNDING
    correlation = covariance / (spreads[0] * spreads[1]) if has_spread else 0.0
    (m1, limits1), (m2, limits2) = sides
    below = _leg(m2 - limits2.low, limits1.high - m1, correlation)
    above = _leg(limits2.high - m2, m1 - limits1.low, correlation)
    n = sum(int(first[k].size) for k in rows)
    effect = standardised(second[rows[0]] - first[rows[0]]) if len(rows) == 1 else None
    return Difference(n, m2 - m1, max(-1.0, m2 - m1 - below), min(1.0, m2 - m1 + above), effect)


def _leg(a: float, b: float, correlation: float) -> float:
    return math.sqrt(max(0.0, a * a - 2 * correlation * a * b + b * b))


def sign_test(first: Sequence[float], second: Sequence[float]) -> McNemar:
    """Apply the exact sign test to items with shares of passed predictions; equals `mcnemar` for shares of 0 and 1."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if abs(a - b) > ROUNDING]
    return mcnemar([a > b for a, b in pairs], [b > a for a, b in pairs])
