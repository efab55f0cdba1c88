"""The bootstrap (Efron 1979): sums over rows drawn with replacement, and the limits of what is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmgym.stats.intervals import Interval

Floats = NDArray[np.float64]
_BLOCK = 4_000_000
"""Numbers drawn at once, so that many rows need no more memory than few."""


def drawn_sums(columns: Sequence[NDArray[Any]], resamples: int, rng: np.random.Generator) -> list[Floats]:
    """The sum of each column in each resample: of as many rows as there are, drawn one by one."""
    n = len(columns[0])
    found = [np.empty(resamples) for _ in columns]
    for part in _blocks(resamples, n):
        drawn = rng.integers(0, n, (part.stop - part.start, n))
        for sums, column in zip(found, columns, strict=True):
            sums[part] = column[drawn].sum(axis=1)
    return found


def multinomial_sums(
    rows: Floats, resamples: int, rng: np.random.Generator, counts: NDArray[np.int64] | None = None
) -> Floats:
    """The same, resamples by columns: how often each row is drawn is multinomial, so all resamples together are one
    matrix product. `counts`: how many equal rows each row stands for. It draws other resamples from a seed than
    `drawn_sums`."""
    times = np.ones(len(rows), dtype=np.int64) if counts is None else counts
    number = int(times.sum())
    found = np.empty((resamples, rows.shape[1]))
    for part in _blocks(resamples, len(rows)):
        found[part] = rng.multinomial(number, times / number, size=part.stop - part.start) @ rows
    return found


def percentile_interval(values: Floats, tail: float = 0.025) -> Interval:
    """What lies between the tails of resampled values."""
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(low), float(high))


def _blocks(resamples: int, n: int) -> Iterator[slice]:
    step = max(1, _BLOCK // n)
    return (slice(start, min(start + step, resamples)) for start in range(0, resamples, step))
