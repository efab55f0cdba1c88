"""Numbers about repeated tests: intervals, pass@k, pass^k, comparing two rates. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from gym.evaluations.statistics import Interval, mean_interval, wilson


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
    """What k iterations would do: `any` that at least one passes (pass@k), `all` that all do (pass^k). Estimates from
    n cases (1: of that case), with their 95% intervals; an interval of None: too little to say."""

    k: int
    n: int
    any: float
    all: float
    any_interval: Interval | None
    all_interval: Interval | None


def repeats(counts: Sequence[tuple[int, int]]) -> list[Repeats]:
    """`counts` are (passed, made) of cases; those with fewer than k iterations are left out for that k.

    Of one case: the interval is Wilson's of its rate p, carried through 1 - (1-p)^k and p^k, which grow with p. Of
    several: the mean over cases with Student's t interval over cases, cut at 0 and 1.
    """
    rows = []
    for k in KS:
        kept = [(passed, made) for passed, made in counts if made >= k]
        anys = [value for c, n in kept if (value := pass_at_k(n, c, k)) is not None]
        alls = [value for c, n in kept if (value := pass_hat_k(n, c, k)) is not None]
        if not kept:
            continue
        if len(kept) == 1:
            found = wilson(*kept[0])
            assert found is not None
            any_interval = Interval(1 - (1 - found.low) ** k, 1 - (1 - found.high) ** k)
            all_interval = Interval(found.low**k, found.high**k)
            rows.append(Repeats(k, 1, anys[0], alls[0], any_interval, all_interval))
        else:
            mean_any, any_spread = _mean(anys)
            mean_all, all_spread = _mean(alls)
            rows.append(Repeats(k, len(kept), mean_any, mean_all, any_spread, all_spread))
    return rows


def _mean(values: list[float]) -> tuple[float, Interval | None]:
    found = mean_interval(np.array(values))
    assert found.mean is not None
    if found.low is None or found.high is None:
        return found.mean, None
    return found.mean, Interval(max(0.0, found.low), min(1.0, found.high))


@dataclass(frozen=True)
class Evidence:
    """c of n passed, `required` is the rate asked for. `verdict` says what the interval says about it. Iterations that
    end as soon as the ratio is decided (`early_stop`) are no sample of a fixed size: their rate has no interval."""

    passed: int
    n: int
    required: float
    interval: Interval | None
    early_stop: bool = False

    @property
    def rate(self) -> float | None:
        return self.passed / self.n if self.n else None

    @property
    def verdict(self) -> str:
        if not self.n:
            return "nothing was run"
        if self.interval is None:
            return "stops once it is decided: no estimate of the rate"
        if self.required <= 0:
            return "no success is required"
        if self.interval.high < self.required:
            return "the rate is lower than required"
        if self.interval.low >= self.required:
            return "the rate is as high as required"
        if self.passed == self.n:
            return f"all passed so far; rates below {_told(self.interval.low)} are excluded"
        if not self.passed:
            return f"none passed so far; rates above {_told(self.interval.high)} are excluded"
        return "too few iterations to tell"


def _told(rate: float) -> str:
    """Two digits, or as many as keep it from looking like 0 or 1."""
    texts = (f"{rate:.{digits}f}" for digits in range(2, 9))
    return next((text for text in texts if 0 < float(text) < 1), str(rate))


def evidence(passed: int, n: int, required: float, *, early_stop: bool = False) -> Evidence:
    return Evidence(passed, n, required, None if early_stop else wilson(passed, n), early_stop)


FISHER = "Fisher's exact test, two-sided"
MCNEMAR = "McNemar's exact test on the same iterations, two-sided"
EARLY = "no p: iterations that stop early are no sample of a fixed size"


@dataclass(frozen=True)
class Comparison:
    """Two rates: their difference (second minus first) and an exact p. `test` says which, or why there is none; of
    paired iterations `changed` counts those that (failed before and pass now, passed before and fail now)."""

    first: tuple[int, int]
    second: tuple[int, int]
    difference: float | None
    p: float | None
    test: str = FISHER
    changed: tuple[int, int] | None = None


def compare(first: tuple[int, int], second: tuple[int, int], *, early_stop: bool = False) -> Comparison:
    """Each is (passed, n). Exact, because n is small: no normal approximation holds there (Bowyer et al. 2025)."""
    (passed, n), (other, m) = first, second
    if not n or not m:
        return Comparison(first, second, None, None)
    difference = other / m - passed / n
    if early_stop:
        return Comparison(first, second, difference, None, EARLY)
    from scipy.stats import fisher_exact

    found = fisher_exact([[passed, n - passed], [other, m - other]])
    return Comparison(first, second, difference, float(found.pvalue))


def compare_paired(pairs: Sequence[tuple[bool, bool]], *, early_stop: bool = False) -> Comparison:
    """Did an iteration pass in the first scoring, in the second? Only those that changed tell (McNemar 1947): which
    way each goes is a coin's toss if the scorings do not differ."""
    n = len(pairs)
    first, second = (sum(pair[0] for pair in pairs), n), (sum(pair[1] for pair in pairs), n)
    changed = (pairs.count((False, True)), pairs.count((True, False)))
    if not n:
        return Comparison(first, second, None, None, MCNEMAR, changed)
    difference = (second[0] - first[0]) / n
    if early_stop:
        return Comparison(first, second, difference, None, EARLY, changed)
    from scipy.stats import binomtest

    p = float(binomtest(changed[0], sum(changed)).pvalue) if any(changed) else 1.0
    return Comparison(first, second, difference, p, MCNEMAR, changed)


def is_flaky(outcomes: list[str]) -> bool:
    """Did the same case both pass and not pass, within one run (its iterations) or between runs (its verdicts)?"""
    made = [outcome for outcome in outcomes if outcome != "skipped"]
    return "pass" in made and any(outcome != "pass" for outcome in made)
