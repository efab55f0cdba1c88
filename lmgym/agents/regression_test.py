"""Test whether pass rates fell significantly, over all cases together and for each case.

Each test is exact and one-sided. If a case's pass rate is unchanged, the number of its passes in the new run,
conditional on its total number of passes, is hypergeometric; over several cases the distribution of the sum is the
convolution (the exact conditional test of Gart 1970 for a common odds ratio of 1). Cases differ in difficulty, so they
are not pooled into one table.

The test of all cases together detects a small fall in many cases. It can miss one case that fails completely among
flaky cases, so each case is also tested separately, with Holm's correction. Both questions share one false-alarm rate:
with several cases the p of each question is doubled (Bonferroni), so p < ALPHA has the same meaning everywhere.
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
from lmgym.text.number_format import format_named_p

ALPHA = 0.001
"""At most 1 in 1,000 unchanged runs is reported: one false alarm in three years of nightly runs."""
MAX_EXACT = 20_000
"""Maximum number of iterations for the exact test. Above it the normal approximation with a continuity correction is
as good."""
MAX_LISTED = 3
"""Maximum number of cases named in a sentence."""
BASELINE_RUNS = 5
"""Number of earlier runs in the baseline."""


@dataclass(frozen=True)
class Stratum:
    """A case's (passed, iterations with a verdict) before and now."""

    before: tuple[int, int]
    now: tuple[int, int]
    name: str = ""


@dataclass(frozen=True)
class RegressedCase:
    """A case whose own pass rate fell significantly. `p`: corrected for all tests of the run."""

    name: str
    before: tuple[int, int]
    now: tuple[int, int]
    p: float

    def __str__(self) -> str:
        (passed, n), (passes, m) = self.before, self.now
        return f"{self.name} ({passed}/{n} before, {passes}/{m} now)"


@dataclass(frozen=True)
class Regression:
    """Comparison of a run with earlier runs.

    `before` and `now` are pass rates, with each case weighted by its current number of iterations. `p`: for all cases
    together, corrected for the tests of single cases; None if nothing can be compared. `cases`: number of cases
    compared. `regressed`: cases whose own rate fell significantly, smallest p first. `lost`: names of cases that had a
    verdict before but have none now.
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
        """Phrase with p and the number of cases."""
        return (
            f"one-sided exact {format_named_p('p', self.p)}, {count(self.cases, 'case')} with unchanged text"
        )

    @property
    def is_significant(self) -> bool:
        """True if the pass rate over all cases fell significantly."""
        return self.p is not None and self.p < ALPHA

    @property
    def regressed_sentence(self) -> str:
        """Sentence listing the regressed cases with their counts; empty if there are none."""
        if not self.regressed:
            return ""
        n = count(len(self.regressed), "case")
        evidence = (
            f"one-sided exact {format_named_p('p', max(case.p for case in self.regressed))}, Holm-corrected"
        )
        return f"Pass rates fell significantly in {n} ({evidence}): {listing(self.regressed, MAX_LISTED)}."

    @property
    def lost_sentence(self) -> str:
        """Sentence listing the cases that lost their verdict; empty if there are none."""
        if not self.lost:
            return ""
        has = "has" if len(self.lost) == 1 else "have"
        return f"{count(len(self.lost), 'case')} no longer {has} a verdict: {listing(self.lost, MAX_LISTED)}."

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Regression:
        """Read a stored comparison. Older rows have neither `regressed` nor `lost`."""
        regressed = tuple(RegressedCase(**case) for case in data.get("regressed", ()))
        return cls(**{**data, "regressed": regressed, "lost": tuple(data.get("lost", ()))})


def compare_with_baseline(strata: Sequence[Stratum], *, alpha: float = ALPHA) -> Regression:
    """Compare a run with earlier runs. Cases without a verdict on one side are not tested.

    Args:
        strata: one entry per case.
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
    """Return the number of questions tested. With one case, the joint and the single test coincide."""
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


# --- detection limits ---


@dataclass(frozen=True)
class Limit:
    """Detection limits for cases with this many `iterations`, assuming all passed in BASELINE_RUNS earlier runs.

    `cases`: number of such cases. `max_passed`: a single case is reported if at most this many iterations pass; None:
    never. `together`: number of such cases that must fail completely in one run, while all others pass, to be
    reported; None: there are too few.
    """

    iterations: int
    cases: int
    max_passed: int | None
    together: int | None


def limits(iterations: Sequence[int]) -> list[Limit]:
    """Return a suite's detection limits by number of iterations. `iterations`: one entry per case."""
    return [_limit(n, cases, len(iterations)) for n, cases in sorted(Counter(iterations).items())]


def _limit(n: int, cases: int, all_cases: int) -> Limit:
    level = ALPHA / _questions(all_cases)

    def is_reported(passed: int) -> bool:
        return _p([_fallen(n, passed)]) * all_cases < level

    # A case is reported below a threshold: the largest reported number is the smallest unreported number minus 1.
    max_passed = bisect_left(range(n + 1), True, key=lambda passed: not is_reported(passed)) - 1
    together = (k for k in range(1, cases + 1) if _p([_fallen(n, 0)] * k) < level)
    return Limit(n, cases, max_passed if max_passed >= 0 else None, next(together, None))


def _fallen(n: int, passed: int) -> Stratum:
    """Return the stratum of a case that always passed and now passes `passed` of n iterations."""
    return Stratum((BASELINE_RUNS * n, BASELINE_RUNS * n), (passed, n))


def min_iterations(n_cases: int) -> int:
    """Return how many iterations each of `n_cases` cases needs so that a case that stops passing is reported."""
    level = ALPHA / _questions(n_cases)
    return next(n for n in range(1, 1000) if _p([_fallen(n, 0)]) * n_cases < level)
