"""Rates and means with their uncertainty: Wilson's interval, items that carry several predictions, the test against
chance, means over suites."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Z95 = 1.959963984540054


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


def wilson(passed: int, total: int, confidence: float = 0.95) -> Interval | None:
    """Wilson score interval of a rate (Wilson 1927); None when there is nothing to count."""
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
    """Mean of the non-NaN values with Student's t interval; the interval is None below two values.

    Where no value is negative, as with surprisals, the mean cannot be either, and the interval ends at 0: cutting off
    what is impossible leaves out no true mean, so it still holds it 95 times in 100."""
    kept = values[~np.isnan(values)]
    n = int(kept.size)
    if n == 0:
        return Mean(0, None, None, None)
    mean = float(kept.mean())
    if n == 1:
        return Mean(1, mean, None, None)
    from scipy.stats import t

    half = float(t.ppf(0.5 + confidence / 2, n - 1)) * float(kept.std(ddof=1)) / n**0.5
    return Mean(n, mean, _lower(mean - half, kept), mean + half)


def _lower(limit: float, values: NDArray[np.float64]) -> float:
    return max(0.0, limit) if values.min() >= 0 else limit


def within_item_intervals(values: NDArray[np.float64], confidence: float = 0.95) -> list[Mean]:
    """One mean per condition with its within-item interval (Cousineau 2005, corrected by Morey 2008).

    `values`: items x conditions; items that lack a condition (NaN) are left out of all, and `n` says how many stay.
    With y[i, j] the value of item i in condition j, of n items and c conditions:

        z[i, j] = y[i, j] - mean(y[i, :]) + mean(y)          the items' own levels are taken out
        var[j]  = c / (c - 1) * variance(z[:, j], ddof=1)    Morey's correction: z of few conditions vary too little
        mean(y[:, j]) +- t(n - 1) * sqrt(var[j] / n)

    For two conditions the half width is that of the paired t interval of their difference over the square root of 2. It
    says how well conditions are told apart, not how well a mean is known. Below two items or conditions there is none.
    The interval ends at 0 as that of `mean_interval` does.

    Cousineau (2005), Tutorials in Quantitative Methods for Psychology 1, 42-45; Morey (2008), the same 4, 61-64."""
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
        Mean(n, float(mean), _lower(float(mean - half), kept), float(mean + half))
        for mean, half in zip(means, halves, strict=True)
    ]


def score_interval(rate: float, n: float, z: float = Z95) -> Interval | None:
    """Wilson's score interval (Wilson 1927) of a rate over `n` items; None for n = 0.

    `n` may be an effective number of items, see `effective_n`: then it is the interval of Dean and Pagano (2015) for
    clustered observations.
    """
    if n <= 0:
        return None
    square = z * z
    middle = (rate + square / (2 * n)) / (1 + square / n)
    half = z * math.sqrt(rate * (1 - rate) / n + square / (4 * n * n)) / (1 + square / n)
    low = 0.0 if rate <= 0 else max(0.0, middle - half)  # rounding leaves 1e-17 and 1 - 2e-16 at the ends
    return Interval(low, 1.0 if rate >= 1 else min(1.0, middle + half))


def n_of_interval(rate: float, low: float, high: float, z: float = Z95) -> float:
    """The `n` of which `score_interval` made these limits.

    With s = z²/n the limits are the roots of (x - rate)² = s x (1 - x), so low * high = rate² / (1 + s) and
    (1 - low)(1 - high) = (1 - rate)² / (1 + s); the greater product is the more exact one.
    """
    spread = rate * rate / (low * high) if rate > 0.5 else (1 - rate) ** 2 / ((1 - low) * (1 - high))
    return z * z / (spread - 1)


def effective_n(shares: NDArray[np.float64], predictions: int = 1) -> float:
    """To how many independent yes/no observations items are worth, each with its share (0..1) of held predictions.

    Kish's design effect: the variance of the mean under independence over the one found between items. Items with one
    prediction give the number of items; it is never less than that, and never more than items times `predictions`.
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
    """One-sided p: how probable a rate at least this high is when every item holds with probability `chance`.

    The exact binomial tail; for an effective (fractional) `n` its continuation by the incomplete beta function.
    """
    if n <= 0:
        return None
    from scipy.special import betainc

    passed = rate * n
    if passed <= 0:
        return 1.0
    if chance <= 0:
        return 0.0
    if chance >= 1:
        return 1.0
    return float(betainc(passed, n - passed + 1, chance))


def rate_difference(first: float, limits: Interval, second: float, others: Interval) -> Interval:
    """Interval of (second − first) from the limits of two rates that have items of their own (Newcombe 1998, method 10;
    the same idea as MOVER)."""
    difference = second - first
    below = math.hypot(second - others.low, limits.high - first)
    above = math.hypot(others.high - second, first - limits.low)
    return Interval(max(-1.0, difference - below), min(1.0, difference + above))


def weighted_mean(
    rates: Sequence[float], intervals: Sequence[Interval], weights: Sequence[float]
) -> tuple[float, Interval] | None:
    """Weighted mean of rates of different suites with its interval; None when no weight is left.

    The interval recovers each rate's variance from its own limits (MOVER, Zou and Donner 2008): items are random,
    the suites are these.
    """
    total = math.fsum(weights)
    if total <= 0:
        return None
    shares = [weight / total for weight in weights]
    mean = min(1.0, math.fsum(share * rate for share, rate in zip(shares, rates, strict=True)))
    rows = list(zip(shares, rates, intervals, strict=True))
    below = math.fsum((share * (rate - limits.low)) ** 2 for share, rate, limits in rows)
    above = math.fsum((share * (limits.high - rate)) ** 2 for share, rate, limits in rows)
    return mean, Interval(max(0.0, mean - math.sqrt(below)), min(1.0, mean + math.sqrt(above)))
