"""Uncertainty of what the site prints, by scipy. Pure: no Django."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
