"""Two models, or two revisions of one, on the same items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 9_999
_BATCH = 2_000_000
"""Numbers drawn at once, so that long suites need no more memory than short ones."""


@dataclass(frozen=True)
class McNemar:
    """Items that only the first, and only the second, got right, and the exact two-sided p."""

    only_first: int
    only_second: int
    p: float


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """McNemar's exact test (the sign test on the items where the two differ); p = 1 when none does."""
    from scipy.stats import binomtest

    pairs = list(zip(first, second, strict=True))
    only_first = sum(a and not b for a, b in pairs)
    only_second = sum(b and not a for a, b in pairs)
    differing = only_first + only_second
    p = float(binomtest(only_first, differing).pvalue) if differing else 1.0
    return McNemar(only_first, only_second, p)


@dataclass(frozen=True)
class Difference:
    """Mean of (second − first) over the items both have; the interval is None when all differences are equal."""

    n: int
    mean: float | None
    low: float | None
    high: float | None
    effect: float | None
    """Cohen's d of paired values: mean over standard deviation of the differences, with Hedges' correction."""


def paired_difference(
    first: Sequence[float | None],
    second: Sequence[float | None],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Difference:
    """Paired bootstrap by item. Items without a value on either side are left out."""
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
    values: NDArray[np.float64], confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float] | None:
    """Expanded percentile interval of a mean (Hesterberg 2015): percentiles widened as Student's t asks of small n.

    None below two values, or when all are equal.
    """
    n = int(values.size)
    if n < 2 or float(np.ptp(values)) == 0.0:
        return None
    from scipy.stats import norm, t

    rng = np.random.default_rng(seed)
    means = np.concatenate(
        [values[rng.integers(0, n, (size, n))].mean(axis=1) for size in _batches(resamples, n)]
    )
    tail = float(norm.cdf(t.ppf((1 - confidence) / 2, n - 1) * (n / (n - 1)) ** 0.5))
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def _batches(resamples: int, n: int) -> list[int]:
    size = max(1, min(resamples, _BATCH // n))
    full, rest = divmod(resamples, size)
    return [size] * full + ([rest] if rest else [])


def standardised(values: NDArray[np.float64]) -> float | None:
    """Mean over standard deviation, times Hedges' correction 1 − 3/(4(n−1) − 1); None when there is no spread."""
    n = int(values.size)
    if n < 3:
        return None
    deviation = float(values.std(ddof=1))
    if deviation <= 0:
        return None
    return float(values.mean()) / deviation * (1 - 3 / (4 * (n - 1) - 1))


def stratified_difference(
    strata: Sequence[NDArray[np.float64]],
    weights: Sequence[float],
    *,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Difference:
    """Weighted mean over suites of the mean item difference; items are resampled within each suite, suites stay.

    `n` is the number of items of all suites; there is no effect size."""
    rows = [
        (values, weight) for values, weight in zip(strata, weights, strict=True) if values.size and weight > 0
    ]
    total = sum(weight for _, weight in rows)
    if not rows:
        return Difference(0, None, None, None, None)
    mean = sum(weight / total * float(values.mean()) for values, weight in rows)
    n = sum(int(values.size) for values, _ in rows)
    if all(float(np.ptp(values)) == 0.0 for values, _ in rows):
        return Difference(n, mean, None, None, None)
    rng = np.random.default_rng(seed)
    means = np.zeros(resamples)
    for values, weight in rows:
        drawn = values[rng.integers(0, values.size, (resamples, values.size))]
        means += weight / total * drawn.mean(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Difference(n, mean, float(low), float(high), None)


def sign_test(first: Sequence[float], second: Sequence[float]) -> McNemar:
    """McNemar's exact test for items that count with a share (several predictions): of the items whose shares
    differ, how many favour the first. The same as `mcnemar` for shares of 0 and 1."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if abs(a - b) > 1e-9]
    return mcnemar([a > b for a, b in pairs], [b > a for a, b in pairs])
