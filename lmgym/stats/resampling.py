"""The bootstrap (Efron 1979): sums over rows drawn with replacement, and percentile intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmgym.stats.intervals import Interval

Floats = NDArray[np.float64]
_BLOCK = 4_000_000
"""Random numbers drawn at once, which bounds memory use."""


def drawn_sums(columns: Sequence[NDArray[Any]], resamples: int, rng: np.random.Generator) -> list[Floats]:
    """Sum each column over n rows drawn with replacement. Returns float64[resamples] for each column of n rows."""
    n = len(columns[0])
    sums = [np.empty(resamples) for _ in columns]
    for part in _blocks(resamples, n):
        drawn = rng.integers(0, n, (part.stop - part.start, n))
        for column_sums, column in zip(sums, columns, strict=True):
            column_sums[part] = column[drawn].sum(axis=1)
    return sums


def multinomial_sums(
    rows: Floats, resamples: int, rng: np.random.Generator, counts: NDArray[np.int64] | None = None
) -> Floats:
    """Sum rows drawn with replacement as one matrix product, because row counts are multinomial.

    The resamples differ from those of `drawn_sums` with the same seed.

    Args:
        counts: number of equal rows that each row represents; by default 1.

    Returns:
        float64[resamples, columns].
    """
    times = np.ones(len(rows), dtype=np.int64) if counts is None else counts
    number = int(times.sum())
    sums = np.empty((resamples, rows.shape[1]))
    for part in _blocks(resamples, len(rows)):
        sums[part] = rng.multinomial(number, times / number, size=part.stop - part.start) @ rows
    return sums


def percentile_interval(values: Floats, tail: float = 0.025) -> Interval:
    """Return the interval between the tails of resampled values."""
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(low), float(high))


def two_sided_p(differences: Floats, units: int) -> float:
    """Return the bootstrap's two-sided p of a difference of 0: twice the share of resamples beyond it.

    Few units cannot support a small p, however much they agree: it is at least that of an exact sign test in which all
    of them agree.

    Args:
        differences: one per resample.
        units: number of resampled units.
    """
    tail = min(float((differences <= 0).mean()), float((differences >= 0).mean()))
    return min(1.0, 2 * max(tail, 1 / (len(differences) + 1), 0.5**units))


def _blocks(resamples: int, n: int) -> Iterator[slice]:
    step = max(1, _BLOCK // n)
    return (slice(start, min(start + step, resamples)) for start in range(0, resamples, step))
