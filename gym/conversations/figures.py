"""Numbers about repeated tests: intervals, pass@k, pass^k, comparing two rates. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from gym.evaluations.statistics import Interval, wilson


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """The chance that at least one of k iterations passes, from c of n that did: 1 - C(n-c, k) / C(n, k), the unbiased
    estimate of Chen et al. 2021 (2107.03374). None when there are fewer than k."""
    if not 1 <= k <= n:
        return None
    return 1.0 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """The chance that all of k iterations pass: C(c, k) / C(n, k) (Yao et al. 2024, 2406.12045)."""
    if not 1 <= k <= n:
        return None
    return comb(c, k) / comb(n, k)


@dataclass(frozen=True)
class Evidence:
    """c of n passed, `required` is the rate asked for. `verdict` says what the interval says about it."""

    passed: int
    n: int
    required: float
    interval: Interval | None

    @property
    def rate(self) -> float | None:
        return self.passed / self.n if self.n else None

    @property
    def verdict(self) -> str:
        if self.interval is None:
            return "nothing was run"
        if self.interval.low >= self.required:
            return "the rate is as high as required"
        if self.interval.high < self.required:
            return "the rate is lower than required"
        return "too few iterations to tell"


def evidence(passed: int, n: int, required: float) -> Evidence:
    return Evidence(passed, n, required, wilson(passed, n))


@dataclass(frozen=True)
class Comparison:
    """Two rates: their difference (second minus first) and Fisher's exact two-sided p."""

    first: tuple[int, int]
    second: tuple[int, int]
    difference: float | None
    p: float | None


def compare(first: tuple[int, int], second: tuple[int, int]) -> Comparison:
    """Each is (passed, n). Exact, because n is small: no normal approximation holds there (Bowyer et al. 2025)."""
    (passed, n), (other, m) = first, second
    if not n or not m:
        return Comparison(first, second, None, None)
    from scipy.stats import fisher_exact

    found = fisher_exact([[passed, n - passed], [other, m - other]])
    return Comparison(first, second, other / m - passed / n, float(found.pvalue))


def is_flaky(outcomes: list[str]) -> bool:
    """Did the same case both pass and not pass?"""
    made = [outcome for outcome in outcomes if outcome != "skipped"]
    return "pass" in made and any(outcome != "pass" for outcome in made)


"""A case may be flaky within one run (iterations differ) or between runs (its verdict flips)."""
