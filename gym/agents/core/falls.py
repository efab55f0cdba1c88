"""Has the pass rate fallen by more than chance? Pure.

An exact test, one-sided, stratified by case: if every case passes as often as before, then the number of its passes
that lie in the new run, given all its passes, is hypergeometric; the sum over the cases is their convolution (the exact
conditional test of Gart 1970 for a common odds ratio of 1). Cases differ in difficulty, so they are not pooled into one
table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gym.agents.core.pass_rates import rate_told
from gym.lib.number_format import p_told
from gym.lib.text import count

ALPHA = 0.001
"""A run every hour without any change is told of by chance at most once in 1,000 runs, six weeks."""
MOST_EXACT = 20_000
"""Iterations; of more, the normal approximation with a correction for continuity is as good."""


@dataclass(frozen=True)
class Stratum:
    """One case: (passed, iterations with a verdict) before and now."""

    before: tuple[int, int]
    now: tuple[int, int]


@dataclass(frozen=True)
class Fall:
    """Both rates weigh the cases alike by their iterations now. `p`: None where nothing can be compared."""

    before: float | None
    now: float | None
    p: float | None
    cases: int

    @property
    def rates(self) -> tuple[str, str]:
        return rate_told(self.before or 0.0), rate_told(self.now or 0.0)

    @property
    def evidence(self) -> str:
        """p, and how many cases it is about."""
        return f"one-sided exact {p_told('p', self.p)}, {count(self.cases, 'case')} of the same text"

    @property
    def is_beyond_chance(self) -> bool:
        return self.p is not None and self.p < ALPHA


def fall(strata: Sequence[Stratum]) -> Fall:
    """Cases without a verdict on one side are left out."""
    known = [one for one in strata if one.before[1] and one.now[1]]
    if not known:
        return Fall(None, None, None, 0)
    total = sum(one.now[1] for one in known)
    before = sum(one.before[0] / one.before[1] * one.now[1] for one in known) / total
    passed = sum(one.now[0] for one in known)
    size = sum(one.before[1] + one.now[1] for one in known)
    p = _exact(known, passed) if size <= MOST_EXACT else _normal(known, passed)
    return Fall(before, passed / total, min(1.0, p), len(known))


def _exact(strata: Sequence[Stratum], passed: int) -> float:
    import numpy as np
    from scipy.stats import hypergeom

    chances, least = np.ones(1), 0
    for one in strata:
        size, passes = one.before[1] + one.now[1], one.before[0] + one.now[0]
        low, high = max(0, one.now[1] - (size - passes)), min(one.now[1], passes)
        chances = np.convolve(chances, hypergeom.pmf(np.arange(low, high + 1), size, passes, one.now[1]))
        least += low
    return float(chances[: passed - least + 1].sum())


def _normal(strata: Sequence[Stratum], passed: int) -> float:
    from scipy.stats import norm

    mean = variance = 0.0
    for one in strata:
        size, passes, n = one.before[1] + one.now[1], one.before[0] + one.now[0], one.now[1]
        mean += n * passes / size
        variance += n * passes * (size - passes) * (size - n) / (size**2 * (size - 1))
    return float(norm.cdf((passed + 0.5 - mean) / variance**0.5)) if variance else 1.0
