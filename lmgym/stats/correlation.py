"""Correlations with intervals, and the reliability of means from halves of the participants."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmgym.stats.intervals import Z95, all_alike

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Correlation:
    """A correlation over `n` pairs with its 95% interval; None if undefined."""

    n: int
    value: float | None
    low: float | None
    high: float | None


def pearson(first: Floats, second: Floats) -> Correlation:
    """Correlate pairs that are complete (not NaN), with Fisher's z interval.

    The correlation is None for fewer than three pairs or equal values, the interval for fewer than four pairs or a
    perfect correlation.
    """
    one, other = _complete(first, second)
    return _correlation(one, other, rank_variance=0.0)


def spearman(first: Floats, second: Floats) -> Correlation:
    """Correlate ranks, with the interval of Bonett and Wright (2000, Psychometrika 65, 23-28): Fisher's z with
    variance (1 + r²/2) / (n − 3)."""
    from scipy.stats import rankdata

    one, other = _complete(first, second)
    return _correlation(rankdata(one), rankdata(other), rank_variance=0.5)


def _complete(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    kept = np.isfinite(first) & np.isfinite(second)
    return first[kept], second[kept]


def _correlation(first: Floats, second: Floats, rank_variance: float) -> Correlation:
    n = int(first.size)
    if n < 3 or all_alike(first) or all_alike(second):
        return Correlation(n, None, None, None)
    value = min(1.0, max(-1.0, float(np.corrcoef(first, second)[0, 1])))
    if n < 4 or abs(value) > 1 - 1e-12:
        return Correlation(n, value, None, None)
    half = Z95 * math.sqrt((1 + rank_variance * value**2) / (n - 3))
    return Correlation(n, value, math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half))


def split_half_reliability(first: Floats, second: Floats) -> float | None:
    """Estimate the reliability of means from random halves: the mean correlation of the halves over all splits, for
    twice the length (Spearman 1910, Brown 1910).

    Args:
        first, second: float64[splits, n], values of both halves; NaN = no value.

    Returns:
        2 r / (1 + r), at least 0; None if no split has a correlation.
    """
    values = [pearson(one, other).value for one, other in zip(first, second, strict=True)]
    known = [value for value in values if value is not None]
    if not known:
        return None
    mean = max(0.0, math.fsum(known) / len(known))
    return 2 * mean / (1 + mean)
