"""Statistics of repeated tests: pass rates with Wilson intervals, pass@k and pass^k."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean

from lmgym.stats.intervals import Interval, wilson
from lmgym.text import count
from lmgym.text.columns import described
from lmgym.text.number_format import format_interval


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Estimate the probability that at least one of k iterations passes, from c passes in n iterations.

    1 - C(n-c, k) / C(n, k), the unbiased estimator of Chen et al. 2021 (2107.03374). None if n < k.
    """
    if not 1 <= k <= n:
        return None
    return 1.0 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """Estimate the probability that all of k iterations pass: C(c, k) / C(n, k) (Yao et al. 2024, 2406.12045).
    None if n < k.
    """
    if not 1 <= k <= n:
        return None
    return comb(c, k) / comb(n, k)


KS = (1, 2, 3, 5, 10)


@dataclass(frozen=True)
class AtK:
    """pass@k and pass^k for a case, or their means over the cases of a run. Only single cases have intervals."""

    k: int = described("the k in pass@k and pass^k", "iterations")
    cases: int = described("cases in the mean, the same for every k", "cases")
    of: int = described(
        "finished cases, also those with too few iterations with a verdict to be in the mean", "cases"
    )
    any: float = described("pass@k: chance that at least one of k iterations passes", "0 to 1")
    any_low: float | None = described(
        "lower limit of the 95% interval of pass@k; empty for several cases", "0 to 1"
    )
    any_high: float | None = described("upper limit of the 95% interval of pass@k", "0 to 1")
    all: float = described("pass^k: chance that all of k iterations pass", "0 to 1")
    all_low: float | None = described(
        "lower limit of the 95% interval of pass^k; empty for several cases", "0 to 1"
    )
    all_high: float | None = described("upper limit of the 95% interval of pass^k", "0 to 1")

    @property
    def any_text(self) -> str:
        return format_rate(self.any)

    @property
    def all_text(self) -> str:
        return format_rate(self.all)

    @property
    def any_interval(self) -> str:
        return format_limits(self.any_low, self.any_high)

    @property
    def all_interval(self) -> str:
        return format_limits(self.all_low, self.all_high)


def at_k(counts: Sequence[tuple[int, int]]) -> list[AtK]:
    """Return pass@k and pass^k, averaged over cases given as (passed, iterations with a verdict).

    All k use the same cases, so that values are comparable. The largest k is the largest in KS for which at
    least half of the cases with a verdict have k iterations; cases with fewer iterations are excluded.

    A single case has intervals: Wilson's interval of its rate p, transformed by 1 - (1-p)^k and p^k, which are monotone
    in p, and widened to include the estimate if it lies outside.
    """
    known = [(passed, n) for passed, n in counts if n]
    ks = [k for k in KS if known and 2 * sum(n >= k for _, n in known) >= len(known)]
    kept = [(passed, n) for passed, n in known if n >= ks[-1]]
    return [_at_k(k, kept, len(counts)) for k in ks]


def _at_k(k: int, cases: Sequence[tuple[int, int]], of: int) -> AtK:
    chance_any = fmean(pass_at_k(n, c, k) or 0.0 for c, n in cases)
    chance_all = fmean(pass_hat_k(n, c, k) or 0.0 for c, n in cases)
    interval = wilson(*cases[0]) if len(cases) == 1 else None
    if interval is None:
        return AtK(k, len(cases), of, chance_any, None, None, chance_all, None, None)
    any_low, any_high = 1 - (1 - interval.low) ** k, 1 - (1 - interval.high) ** k
    any_limits = min(any_low, chance_any), max(any_high, chance_any)
    all_limits = min(interval.low**k, chance_all), max(interval.high**k, chance_all)
    return AtK(k, 1, of, chance_any, *any_limits, chance_all, *all_limits)


@dataclass(frozen=True)
class Evidence:
    """Evidence about a case's pass rate: `passed` of `n` iterations with a verdict, and the required rate.

    Errors have no verdict and are excluded from rates. With `early_stop` the number of iterations depends on their
    outcomes, so the rate has no interval.
    """

    passed: int
    n: int
    required: float
    interval: Interval | None
    early_stop: bool = False
    errors: int = 0

    @property
    def rate(self) -> float | None:
        return self.passed / self.n if self.n else None

    @property
    def low(self) -> float | None:
        return self.interval.low if self.interval else None

    @property
    def high(self) -> float | None:
        return self.interval.high if self.interval else None

    @property
    def errors_text(self) -> str:
        """Number of errors as text, such as "2 errors"; empty if there are none."""
        return format_errors(self.errors)

    @property
    def interval_text(self) -> str:
        return format_limits(self.low, self.high)

    @property
    def count(self) -> str:
        """passed/n and errors, such as "3/8, 2 errors"."""
        return self._with_errors(f"{self.passed}/{self.n}")

    @property
    def count_with_interval(self) -> str:
        interval = f" ({self.interval_text})" if self.interval else ""
        early = " (stops early)" if self.early_stop else ""
        return self._with_errors(f"{self.passed}/{self.n}{interval}{early}")

    @property
    def sentence(self) -> str:
        return self._with_errors(f"{self.passed} of {count(self.n, 'iteration')} passed")

    def _with_errors(self, rate: str) -> str:
        if self.errors and not self.n:
            return f"no verdict: {self.errors_text}"
        return f"{rate}, {self.errors_text}" if self.errors else rate

    @property
    def verdict(self) -> str:
        """Statement of whether the interval excludes the required rate."""
        if not self.n:
            return self.count if self.errors else "nothing was run"
        if self.interval is None:
            return "stopped early: no estimate of the rate"
        if self.required <= 0:
            return "no success is required"
        if self.interval.high < self.required:
            return "the rate is lower than required"
        if self.interval.low >= self.required:
            return "the rate is as high as required"
        if self.passed == self.n:
            return f"all passed so far; rates below {format_rate(self.interval.low)} are excluded"
        if not self.passed:
            return f"none passed so far; rates above {format_rate(self.interval.high)} are excluded"
        return "too few iterations to tell"


def evidence(passed: int, n: int, required: float, *, errors: int = 0, early_stop: bool = False) -> Evidence:
    interval = None if early_stop else wilson(passed, n)
    return Evidence(passed, n, required, interval, early_stop, errors)


def format_limits(low: float | None, high: float | None) -> str:
    """Format an interval with two decimals, or more if both limits would look equal; empty without limits."""
    if low is None or high is None:
        return ""
    forms: list[Callable[[float], str]] = [f"{{:.{digits}f}}".format for digits in range(2, 13)]
    forms.insert(2, format_rate)
    return format_interval(low, high, next((form for form in forms if form(low) != form(high)), format_rate))


def format_rate(rate: float) -> str:
    """Format a rate with two decimals, or three where it would look like 0 or 1: 0.63, 0.004, < 0.001, > 0.999."""
    if 0 < rate < 0.001 or 0.999 < rate < 1:
        return "< 0.001" if rate < 0.5 else "> 0.999"
    text = f"{rate:.2f}"
    return text if rate in (0, 1) or 0 < float(text) < 1 else f"{rate:.3f}"


def format_errors(n: int) -> str:
    return f"{n} error{'' if n == 1 else 's'}" if n else ""
