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
    """Mean of the non-NaN values with Student's t interval; the interval is None below two values."""
    kept = values[~np.isnan(values)]
    n = int(kept.size)
    if n == 0:
        return Mean(0, None, None, None)
    mean = float(kept.mean())
    if n == 1:
        return Mean(1, mean, None, None)
    from scipy.stats import t

    half = float(t.ppf(0.5 + confidence / 2, n - 1)) * float(kept.std(ddof=1)) / n**0.5
    return Mean(n, mean, mean - half, mean + half)


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
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


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
