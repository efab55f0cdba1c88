"""Statistics of repeated tests: pass rates with intervals, pass@k, pass^k, comparing two rates. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb
from statistics import fmean

from lmgym.stats import holm_of_known, mcnemar_p, score_interval
from lmgym.stats.intervals import Interval, rate_difference, wilson


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


KS = (1, 2, 3, 5, 10)


@dataclass(frozen=True)
class Repeats:
    """The chance that at least one of k iterations passes (`any`, pass@k) or all do (`all`, pass^k), with 95%
    intervals: means over `n` of `of` cases, the same ones for every k."""

    k: int
    n: int
    of: int
    any: float
    all: float
    any_interval: Interval
    all_interval: Interval

    @property
    def any_told(self) -> tuple[str, str]:
        """The chance and its interval."""
        return rate_told(self.any), interval_told(self.any_interval)

    @property
    def all_told(self) -> tuple[str, str]:
        return rate_told(self.all), interval_told(self.all_interval)


def repeats(counts: Sequence[tuple[int, int]]) -> list[Repeats]:
    """pass@k and pass^k of cases, given as (passed, iterations with a verdict): the mean over the cases.

    All k are about the same cases, so that they can be compared: k goes as far as at least half of the cases that have
    a verdict have k iterations, and cases with fewer than the largest k are left out.

    Of one case: the interval is Wilson's of its rate p, carried through 1 - (1-p)^k and p^k, which grow with p; it
    reaches to the estimate where that lies outside.
    Of several: Wilson's interval at an effective number of trials (Dean and Pagano 2015; see `score_interval`). The n
    iterations of a case hold floor(n/k) separate groups of k, and the average over all choices of k varies no more
    than the average over those groups (Hoeffding 1963, section 5). Cases count alike however many groups they have, so
    the number of trials is Kish's (1965), (sum of weights)^2 / sum of squared weights. Cases are taken as they are:
    the interval is about repeating these, not about other ones. Cases that differ make it wider than it need be
    (Hoeffding 1956). It has a width wherever the number of iterations is finite.
    """
    known = [(passed, n) for passed, n in counts if n]
    ks = [k for k in KS if known and 2 * sum(n >= k for _, n in known) >= len(known)]
    kept = [(passed, n) for passed, n in known if n >= ks[-1]]
    return [_repeats(k, kept, len(counts)) for k in ks]


def _repeats(k: int, cases: Sequence[tuple[int, int]], of: int) -> Repeats:
    chance_any = fmean(pass_at_k(n, c, k) or 0.0 for c, n in cases)
    chance_all = fmean(pass_hat_k(n, c, k) or 0.0 for c, n in cases)
    if len(cases) == 1:
        found = _wilson(cases[0][0] / cases[0][1], cases[0][1])
        low, high = 1 - (1 - found.low) ** k, 1 - (1 - found.high) ** k
        any_interval = Interval(min(low, chance_any), max(high, chance_any))
        all_interval = Interval(min(found.low**k, chance_all), max(found.high**k, chance_all))
    else:
        trials = len(cases) ** 2 / sum(1 / (n // k) for _, n in cases)
        any_interval, all_interval = _wilson(chance_any, trials), _wilson(chance_all, trials)
    return Repeats(k, len(cases), of, chance_any, chance_all, any_interval, all_interval)


def _wilson(rate: float, n: float) -> Interval:
    found = score_interval(rate, n)
    assert found is not None
    return found


@dataclass(frozen=True)
class Evidence:
    """`passed` of `n` iterations with a verdict passed; `errors` more ended without one and are in no rate. `verdict`:
    what the interval says about the `required` rate. Iterations that end as soon as the ratio is decided (`early_stop`)
    are no sample of a fixed size, so their rate has no interval."""

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
    def ends(self) -> tuple[float, float] | tuple[None, None]:
        """Of the interval, where there is one."""
        return (self.interval.low, self.interval.high) if self.interval else (None, None)

    @property
    def apart(self) -> str:
        """The errors in words; empty without any."""
        return errors_told(self.errors)

    @property
    def count(self) -> str:
        """passed/n, and what is not in it: "3/8, 2 errors"."""
        return self._told(f"{self.passed}/{self.n}")

    @property
    def count_with_interval(self) -> str:
        interval = f" {self.interval_told}" if self.interval else ""
        early = " (stops early)" if self.early_stop else ""
        return self._told(f"{self.passed}/{self.n}{interval}{early}")

    @property
    def interval_told(self) -> str:
        return interval_told(self.interval) if self.interval else ""

    @property
    def sentence(self) -> str:
        return self._told(f"{self.passed} of {self.n} iterations passed")

    def _told(self, rate: str) -> str:
        if self.errors and not self.n:
            return f"no verdict: {self.apart}"
        return f"{rate}, {self.apart}" if self.errors else rate

    @property
    def verdict(self) -> str:
        if not self.n:
            return self.count if self.errors else "nothing was run"
        if self.interval is None:
            return "stops once it is decided: no estimate of the rate"
        if self.required <= 0:
            return "no success is required"
        if self.interval.high < self.required:
            return "the rate is lower than required"
        if self.interval.low >= self.required:
            return "the rate is as high as required"
        if self.passed == self.n:
            return f"all passed so far; rates below {rate_told(self.interval.low)} are excluded"
        if not self.passed:
            return f"none passed so far; rates above {rate_told(self.interval.high)} are excluded"
        return "too few iterations to tell"


def interval_told(interval: Interval) -> str:
    """Two digits, or more if both ends would look the same."""
    texts = [[f"{end:.{digits}f}" for end in (interval.low, interval.high)] for digits in range(2, 13)]
    texts.insert(2, [rate_told(interval.low), rate_told(interval.high)])
    low, high = next((ends for ends in texts if ends[0] != ends[1]), texts[2])
    return f"[{low}, {high}]"


def rate_told(rate: float) -> str:
    """Two digits, three where it would look like 0 or 1: 0.63, 0.004, < 0.001, > 0.999."""
    if 0 < rate < 0.001 or 0.999 < rate < 1:
        return "< 0.001" if rate < 0.5 else "> 0.999"
    text = f"{rate:.2f}"
    return text if rate in (0, 1) or 0 < float(text) < 1 else f"{rate:.3f}"


def errors_told(n: int) -> str:
    return f"{n} error{'' if n == 1 else 's'}" if n else ""


def evidence(passed: int, n: int, required: float, *, errors: int = 0, early_stop: bool = False) -> Evidence:
    interval = None if early_stop else wilson(passed, n)
    return Evidence(passed, n, required, interval, early_stop, errors)


FISHER = "Fisher's exact test, two-sided"
MCNEMAR = "McNemar's exact test on the same iterations, two-sided"
EARLY = "no p: iterations that stop early are no sample of a fixed size"
NO_VERDICT = "no p: one side has no iteration with a verdict"


@dataclass(frozen=True)
class Comparison:
    """Two rates, their difference (second minus first) and an exact p. `test`: which one, or why there is none.
    `changed`: of paired iterations, how many pass only in the second, only in the first. `errors`: of both sides, in
    neither rate. `interval`: 95 %, of the difference of independent samples (Newcombe 1998). `p_holm`: corrected for
    all rows of a table (`corrected`)."""

    first: tuple[int, int]
    second: tuple[int, int]
    difference: float | None
    p: float | None
    test: str = FISHER
    changed: tuple[int, int] | None = None
    errors: tuple[int, int] = (0, 0)
    interval: Interval | None = None
    p_holm: float | None = None

    @property
    def counts(self) -> tuple[str, str]:
        """Both in words, with their errors."""
        first, second = (
            evidence(*rate, 1.0, errors=errors).count
            for rate, errors in zip((self.first, self.second), self.errors, strict=True)
        )
        return first, second


def compare(first: tuple[int, int], second: tuple[int, int], *, early_stop: bool = False) -> Comparison:
    """Each is (passed, n), without errors. An exact test, because no normal approximation holds for small n (Bowyer et
    al. 2025)."""
    (passed, n), (other, m) = first, second
    if not n or not m:
        return Comparison(first, second, None, None, NO_VERDICT)
    difference = other / m - passed / n
    if early_stop:
        return Comparison(first, second, difference, None, EARLY)
    from scipy.stats import fisher_exact

    found = fisher_exact([[passed, n - passed], [other, m - other]])
    limits, others = wilson(passed, n), wilson(other, m)
    interval = rate_difference(passed / n, limits, other / m, others) if limits and others else None
    return Comparison(first, second, difference, float(found.pvalue), interval=interval)


def corrected(rows: Sequence[Comparison | None]) -> list[Comparison | None]:
    """With Holm's p over all rows of a table that have a p."""
    values = holm_of_known([None if row is None else row.p for row in rows])
    return [row and replace(row, p_holm=p) for row, p in zip(rows, values, strict=True)]


def compare_paired(pairs: Sequence[tuple[bool, bool]], *, early_stop: bool = False) -> Comparison:
    """`pairs`: whether an iteration passed in the first and in the second scoring. McNemar's test (1947) uses those
    that changed: either direction is equally likely if the scorings do not differ."""
    n = len(pairs)
    first, second = (sum(pair[0] for pair in pairs), n), (sum(pair[1] for pair in pairs), n)
    changed = (pairs.count((False, True)), pairs.count((True, False)))
    if not n:
        return Comparison(first, second, None, None, NO_VERDICT, changed)
    difference = (second[0] - first[0]) / n
    if early_stop:
        return Comparison(first, second, difference, None, EARLY, changed)
    return Comparison(first, second, difference, mcnemar_p(*changed), MCNEMAR, changed)
