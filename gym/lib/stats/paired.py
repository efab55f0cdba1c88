"""Two models, or two revisions of one, on the same items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .resampling import drawn_sums, percentile_interval

RESAMPLES = 9_999
ROUNDING = 1e-9
"""Bits or shares that differ by less are equal: thirds and sums of logarithms are rounded."""


def all_alike(values: NDArray[np.float64]) -> bool:
    """Whether the values differ by rounding alone: then there is no spread, and no interval."""
    return float(np.ptp(values)) <= ROUNDING


@dataclass(frozen=True)
class McNemar:
    """Items that only the first, and only the second, got right, and the exact two-sided p."""

    only_first: int
    only_second: int
    p: float


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar:
    """McNemar's exact test (the sign test on the items where the two differ); p = 1 when none does."""
    pairs = list(zip(first, second, strict=True))
    only_first = sum(a and not b for a, b in pairs)
    only_second = sum(b and not a for a, b in pairs)
    return McNemar(only_first, only_second, mcnemar_p(only_first, only_second))


def mcnemar_p(only_one: int, only_other: int) -> float:
    """The exact two-sided p of pairs that only one side got right; 1 without any."""
    from scipy.stats import binomtest

    differing = only_one + only_other
    return float(binomtest(only_one, differing).pvalue) if differing else 1.0


@dataclass(frozen=True)
class Difference:
    """Mean of (second − first) over the items both have; the interval is None when all differences are equal."""

    n_items: int
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    effect_size_g: float | None
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
    if n < 2 or all_alike(values):
        return None
    from scipy.stats import norm, t

    (sums,) = drawn_sums([values], resamples, np.random.default_rng(seed))
    tail = float(norm.cdf(t.ppf((1 - confidence) / 2, n - 1) * (n / (n - 1)) ** 0.5))
    limits = percentile_interval(sums / n, tail)
    return limits.low, limits.high


def standardised(values: NDArray[np.float64]) -> float | None:
    """Mean over standard deviation, times Hedges' correction 1 − 3/(4(n−1) − 1); None when there is no spread."""
    n = int(values.size)
    if n < 3 or all_alike(values):
        return None
    return float(values.mean()) / float(values.std(ddof=1)) * (1 - 3 / (4 * (n - 1) - 1))


def stratified_difference(
    strata: Sequence[NDArray[np.float64]],
    weights: Sequence[float],
    *,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Difference:
    """Weighted mean over suites of the mean item difference; items are resampled within each suite, suites stay.

    Percentiles are expanded as in `bootstrap_mean`: each suite's resampled means are spread by √(n/(n−1)), and the
    tail is that of Student's t with Satterthwaite's (1946) degrees of freedom. A suite whose items all differ by the
    same adds no uncertainty.

    `n_items` are those of all suites; there is no effect size."""
    rows = [
        (values, weight) for values, weight in zip(strata, weights, strict=True) if values.size and weight > 0
    ]
    total = sum(weight for _, weight in rows)
    if not rows:
        return Difference(0, None, None, None, None)
    mean = sum(weight / total * float(values.mean()) for values, weight in rows)
    n = sum(int(values.size) for values, _ in rows)
    spread = [(values, weight / total) for values, weight in rows if not all_alike(values)]
    if not spread:
        return Difference(n, mean, None, None, None)
    rng = np.random.default_rng(seed)
    means = np.full(resamples, mean)
    for values, share in spread:
        size = int(values.size)
        (sums,) = drawn_sums([values], resamples, rng)
        means += share * (size / (size - 1)) ** 0.5 * (sums / size - values.mean())
    limits = percentile_interval(means, _expanded_tail(spread, confidence))
    return Difference(n, mean, limits.low, limits.high, None)


def _expanded_tail(rows: Sequence[tuple[NDArray[np.float64], float]], confidence: float) -> float:
    """Normal tail that reaches as far as Student's t does for this weighted sum of means; all rows have a spread."""
    from scipy.stats import norm, t

    variances = [share**2 * float(values.var(ddof=1)) / values.size for values, share in rows]
    freedom = [values.size - 1 for values, _ in rows]
    degrees = sum(variances) ** 2 / sum(v**2 / d for v, d in zip(variances, freedom, strict=True))
    return float(norm.cdf(t.ppf((1 - confidence) / 2, degrees)))


def sign_test(first: Sequence[float], second: Sequence[float]) -> McNemar:
    """McNemar's exact test for items that count with a share (several predictions): of the items whose shares
    differ, how many favour the first. The same as `mcnemar` for shares of 0 and 1."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if abs(a - b) > ROUNDING]
    return mcnemar([a > b for a, b in pairs], [b > a for a, b in pairs])
