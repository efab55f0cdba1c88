"""Test whether pass rates fell by more than chance: that of all cases together, or that of a single case.

Each test is exact and one-sided: if a case passes as often as before, then the number of its passes that lie in the
new run, given all its passes, is hypergeometric; over several cases the sum is the convolution (the exact conditional
test of Gart 1970 for a common odds ratio of 1). Cases differ in difficulty, so they are not pooled into one table.

The test of all cases together detects a small fall of many. A case that fails completely is hidden there by flaky ones,
so each case is also tested alone, corrected by Holm's method. Both questions share one rate of false alarms: with
several cases the p of each question is doubled (Bonferroni), so that a p below ALPHA means the same everywhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lmgym.agents.pass_rates import format_rate
from lmgym.stats import holm
from lmgym.text import count, listing
from lmgym.text.number_format import p_told

ALPHA = 0.001
"""Of 1,000 runs without a change, at most one is reported: a nightly schedule raises one false alarm in three years."""
MAX_EXACT = 20_000
"""Iterations; beyond, the normal approximation with a continuity correction is as good."""
MAX_LISTED = 3
"""Cases named in one sentence."""
BASELINE_RUNS = 5
"""Earlier runs that a new one is compared with."""


@dataclass(frozen=True)
class Stratum:
    """One case: (passed, iterations with a verdict) before and now."""

    before: tuple[int, int]
    now: tuple[int, int]
    name: str = ""


@dataclass(frozen=True)
class RegressedCase:
    """A case whose pass rate alone fell significantly. `p`: corrected for all tests of the run."""

    name: str
    before: tuple[int, int]
    now: tuple[int, int]
    p: float

    def __str__(self) -> str:
        (passed, n), (passes, m) = self.before, self.now
        return f"{self.name} ({passed}/{n} before, {passes}/{m} now)"


@dataclass(frozen=True)
class Regression:
    """Comparison of a run with earlier ones.

    `before` and `now` are rates in which each case has the weight of its iterations now. `p`: of all cases together,
    corrected for the tests of single cases; None if nothing can be compared. `cases`: how many were compared.
    `regressed`: cases that fell significantly by themselves, smallest p first. `lost`: names of cases that had a
    verdict before and have none now.
    """

    before: float | None
    now: float | None
    p: float | None
    cases: int
    regressed: tuple[RegressedCase, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def rates(self) -> tuple[str, str]:
        return format_rate(self.before or 0.0), format_rate(self.now or 0.0)

    @property
    def evidence(self) -> str:
        """p and the number of cases, for a sentence."""
        return f"one-sided exact {p_told('p', self.p)}, {count(self.cases, 'case')} of the same text"

    @property
    def is_significant(self) -> bool:
        """Return whether the rate of all cases together fell significantly."""
        return self.p is not None and self.p < ALPHA

    @property
    def regressed_sentence(self) -> str:
        """The regressed cases with their counts; empty if there are none."""
        if not self.regressed:
            return ""
        n = count(len(self.regressed), "case")
        evidence = f"one-sided exact {p_told('p', max(case.p for case in self.regressed))}, Holm-corrected"
        return f"{n} fell significantly ({evidence}): {listing(self.regressed, MAX_LISTED)}."

    @property
    def lost_sentence(self) -> str:
        """The cases that lost their verdict; empty if there are none."""
        if not self.lost:
            return ""
        has = "has" if len(self.lost) == 1 else "have"
        return f"{count(len(self.lost), 'case')} no longer {has} a verdict: {listing(self.lost, MAX_LISTED)}."

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Regression:
        """Older rows have neither `regressed` nor `lost`."""
        regressed = tuple(RegressedCase(**case) for case in data.get("regressed", ()))
        return cls(**{**data, "regressed": regressed, "lost": tuple(data.get("lost", ()))})


def compare_with_baseline(strata: Sequence[Stratum], *, alpha: float = ALPHA) -> Regression:
    """Compare a run with earlier ones. Cases without a verdict on one side are in no test.

    Args:
        strata: one entry a case.
        alpha: single cases with a corrected p below this are `regressed`.
    """
    known = [stratum for stratum in strata if stratum.before[1] and stratum.now[1]]
    lost = tuple(stratum.name for stratum in strata if stratum.before[1] and not stratum.now[1])
    if not known:
        return Regression(None, None, None, 0, lost=lost)
    total = sum(stratum.now[1] for stratum in known)
    before = sum(stratum.before[0] / stratum.before[1] * stratum.now[1] for stratum in known) / total
    passed = sum(stratum.now[0] for stratum in known)
    questions = _questions(len(known))
    corrected = (min(1.0, questions * p) for p in holm([_p([stratum]) for stratum in known]))
    cases = [
        RegressedCase(stratum.name, stratum.before, stratum.now, p)
        for stratum, p in zip(known, corrected, strict=True)
    ]
    regressed = sorted((case for case in cases if case.p < alpha), key=lambda case: case.p)
    p = min(1.0, questions * _p(known))
    return Regression(before, passed / total, p, len(known), tuple(regressed), lost)


def _questions(n_cases: int) -> int:
    """Number of questions tested. With one case, all cases together and each alone are the same test."""
    return 1 if n_cases == 1 else 2


def _p(strata: Sequence[Stratum]) -> float:
    size = sum(stratum.before[1] + stratum.now[1] for stratum in strata)
    return min(1.0, _exact(strata) if size <= MAX_EXACT else _normal(strata))


def _exact(strata: Sequence[Stratum]) -> float:
    import numpy as np
    from scipy.stats import hypergeom

    chances, least, passed = np.ones(1), 0, sum(stratum.now[0] for stratum in strata)
    for stratum in strata:
        size, passes = stratum.before[1] + stratum.now[1], stratum.before[0] + stratum.now[0]
        low, high = max(0, stratum.now[1] - (size - passes)), min(stratum.now[1], passes)
        chances = np.convolve(chances, hypergeom.pmf(np.arange(low, high + 1), size, passes, stratum.now[1]))
        least += low
    return float(chances[: passed - least + 1].sum())


def _normal(strata: Sequence[Stratum]) -> float:
    from scipy.stats import norm

    mean = variance = 0.0
    for stratum in strata:
        size, n = stratum.before[1] + stratum.now[1], stratum.now[1]
        passes = stratum.before[0] + stratum.now[0]
        mean += n * passes / size
        variance += n * passes * (size - passes) * (size - n) / (size**2 * (size - 1))
    passed = sum(stratum.now[0] for stratum in strata)
    return float(norm.cdf((passed + 0.5 - mean) / variance**0.5)) if variance else 1.0


# --- which regressions can be detected ---


@dataclass(frozen=True)
class Limit:
    """Detection limits of the `cases` with this many `iterations`, if each passed every time in BASELINE_RUNS runs.

    `max_passed`: a single case is reported if at most this many iterations pass; None: never. `together`: number of
    these cases that have to fail all iterations in the same run, while all others pass, to be reported; None: too few
    cases.
    """

    iterations: int
    cases: int
    max_passed: int | None
    together: int | None


def limits(iterations: Sequence[int]) -> list[Limit]:
    """Return the detection limits of a suite, by number of iterations. `iterations`: one entry a case."""
    return [_limit(n, cases, len(iterations)) for n, cases in sorted(Counter(iterations).items())]


def _limit(n: int, cases: int, all_cases: int) -> Limit:
    level = ALPHA / _questions(all_cases)

    def is_reported(passed: int) -> bool:
        return _p([_fallen(n, passed)]) * all_cases < level

    # Reported below a threshold: the smallest number of passes that is not reported, minus 1.
    max_passed = bisect_left(range(n + 1), True, key=lambda passed: not is_reported(passed)) - 1
    together = (k for k in range(1, cases + 1) if _p([_fallen(n, 0)] * k) < level)
    return Limit(n, cases, max_passed if max_passed >= 0 else None, next(together, None))


def _fallen(n: int, passed: int) -> Stratum:
    """A case that passed every time and now passes `passed` of n."""
    return Stratum((BASELINE_RUNS * n, BASELINE_RUNS * n), (passed, n))


def min_iterations(n_cases: int) -> int:
    """Return how many iterations each of `n_cases` cases needs so that one that stops passing is reported."""
    level = ALPHA / _questions(n_cases)
    return next(n for n in range(1, 1000) if _p([_fallen(n, 0)]) * n_cases < level)
