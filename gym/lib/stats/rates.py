"""Rates: Wilson's interval, items that carry several predictions, the test against chance, means over suites."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gym.lib.stats.intervals import Interval

Z95 = 1.959963984540054


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
