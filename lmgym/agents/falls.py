"""Has the pass rate fallen by more than chance, that of all cases together or that of one? Pure.

Each test is exact and one-sided: if a case passes as often as before, then the number of its passes that lie in the
new run, given all its passes, is hypergeometric; over several cases the sum is the convolution (the exact conditional
test of Gart 1970 for a common odds ratio of 1). Cases differ in difficulty, so they are not pooled into one table.

All cases together show a small fall of many. A dead case beside flaky ones does not show there, so each case is tested
alone, corrected by Holm's method. Both questions share one rate of false alarms: where there are several cases, the p
of each question is doubled (Bonferroni), so that a p below ALPHA means the same everywhere.
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
"""Of 1,000 runs without a change, at most one is reported by chance: a nightly schedule raises one false alarm in three
years."""
MOST_EXACT = 20_000
"""Iterations; of more, the normal approximation with a correction for continuity is as good."""
MOST_NAMED = 3
"""Cases in one sentence."""
COMPARED = 5
"""Runs that a new one is compared with."""


@dataclass(frozen=True)
class Stratum:
    """One case: (passed, iterations with a verdict) before and now."""

    before: tuple[int, int]
    now: tuple[int, int]
    name: str = ""


@dataclass(frozen=True)
class FallenCase:
    """A case whose own fall is beyond chance. `p`: corrected for all tests of the run."""

    name: str
    before: tuple[int, int]
    now: tuple[int, int]
    p: float

    def __str__(self) -> str:
        (passed, n), (passes, m) = self.before, self.now
        return f"{self.name} ({passed}/{n} before, {passes}/{m} now)"


@dataclass(frozen=True)
class Fall:
    """Both rates weigh the cases alike by their iterations now. `p`: of all cases together, corrected for the tests of
    single cases; None where nothing can be compared. `fallen`: cases that fell beyond chance by themselves, the surest
    first. `lost`: names of cases that had a verdict before and have none now."""

    before: float | None
    now: float | None
    p: float | None
    cases: int
    fallen: tuple[FallenCase, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def rates(self) -> tuple[str, str]:
        return format_rate(self.before or 0.0), format_rate(self.now or 0.0)

    @property
    def evidence(self) -> str:
        """p, and how many cases it is about."""
        return f"one-sided exact {p_told('p', self.p)}, {count(self.cases, 'case')} of the same text"

    @property
    def is_beyond_chance(self) -> bool:
        """Of all cases together."""
        return self.p is not None and self.p < ALPHA

    @property
    def fallen_sentence(self) -> str:
        """The cases that fell, with their counts: a sentence, or an empty text."""
        if not self.fallen:
            return ""
        n = count(len(self.fallen), "case")
        evidence = f"one-sided exact {p_told('p', max(case.p for case in self.fallen))}, Holm"
        return f"{n} fell, more than chance explains ({evidence}): {listing(self.fallen, MOST_NAMED)}."

    @property
    def lost_sentence(self) -> str:
        """The cases that lost their verdict: a sentence, or an empty text."""
        if not self.lost:
            return ""
        has = "has" if len(self.lost) == 1 else "have"
        return f"{count(len(self.lost), 'case')} no longer {has} a verdict: {listing(self.lost, MOST_NAMED)}."

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Fall:
        """Older rows know neither fallen nor lost cases."""
        fallen = tuple(FallenCase(**case) for case in found.get("fallen", ()))
        return cls(**{**found, "fallen": fallen, "lost": tuple(found.get("lost", ()))})


def fall(strata: Sequence[Stratum], *, alpha: float = ALPHA) -> Fall:
    """Cases without a verdict on one side are in no test. `alpha`: cases whose p is below are `fallen`."""
    known = [one for one in strata if one.before[1] and one.now[1]]
    lost = tuple(one.name for one in strata if one.before[1] and not one.now[1])
    if not known:
        return Fall(None, None, None, 0, lost=lost)
    total = sum(one.now[1] for one in known)
    before = sum(one.before[0] / one.before[1] * one.now[1] for one in known) / total
    passed = sum(one.now[0] for one in known)
    questions = _questions(len(known))
    corrected = (min(1.0, questions * p) for p in holm([_p([one]) for one in known]))
    cases = [FallenCase(one.name, one.before, one.now, p) for one, p in zip(known, corrected, strict=True)]
    fallen = sorted((case for case in cases if case.p < alpha), key=lambda case: case.p)
    p = min(1.0, questions * _p(known))
    return Fall(before, passed / total, p, len(known), tuple(fallen), lost)


def _questions(n_cases: int) -> int:
    """With one case, all cases together and each alone are the same test."""
    return 1 if n_cases == 1 else 2


def _p(strata: Sequence[Stratum]) -> float:
    size = sum(one.before[1] + one.now[1] for one in strata)
    return min(1.0, _exact(strata) if size <= MOST_EXACT else _normal(strata))


def _exact(strata: Sequence[Stratum]) -> float:
    import numpy as np
    from scipy.stats import hypergeom

    chances, least, passed = np.ones(1), 0, sum(one.now[0] for one in strata)
    for one in strata:
        size, passes = one.before[1] + one.now[1], one.before[0] + one.now[0]
        low, high = max(0, one.now[1] - (size - passes)), min(one.now[1], passes)
        chances = np.convolve(chances, hypergeom.pmf(np.arange(low, high + 1), size, passes, one.now[1]))
        least += low
    return float(chances[: passed - least + 1].sum())


def _normal(strata: Sequence[Stratum]) -> float:
    from scipy.stats import norm

    mean = variance = 0.0
    for one in strata:
        size, passes, n = one.before[1] + one.now[1], one.before[0] + one.now[0], one.now[1]
        mean += n * passes / size
        variance += n * passes * (size - passes) * (size - n) / (size**2 * (size - 1))
    passed = sum(one.now[0] for one in strata)
    return float(norm.cdf((passed + 0.5 - mean) / variance**0.5)) if variance else 1.0


# --- what can be found at all ---


@dataclass(frozen=True)
class Limit:
    """What can be reported of the `cases` of a suite that make so many `iterations`, each of which passed every time in
    COMPARED runs. `most`: a case is reported by itself where so many iterations or fewer pass; None: not even where
    none does. `together`: so many of these cases have to fail all their iterations in one run while the others pass as
    ever; None: they are too few."""

    iterations: int
    cases: int
    most: int | None
    together: int | None


def limits(iterations: Sequence[int]) -> list[Limit]:
    """Of a suite whose cases make so many iterations each, by the number of iterations."""
    return [_limit(n, cases, len(iterations)) for n, cases in sorted(Counter(iterations).items())]


def _limit(n: int, cases: int, all_cases: int) -> Limit:
    level = ALPHA / _questions(all_cases)

    def alone(passed: int) -> bool:
        return _p([_dropped(n, passed)]) * all_cases < level

    # Passes are few where it is reported: the first number that is not, less one.
    most = bisect_left(range(n + 1), True, key=lambda passed: not alone(passed)) - 1
    enough = (k for k in range(1, cases + 1) if _p([_dropped(n, 0)] * k) < level)
    return Limit(n, cases, most if most >= 0 else None, next(enough, None))


def _dropped(n: int, passed: int) -> Stratum:
    """A case that passed every time and now passes `passed` of n."""
    return Stratum((COMPARED * n, COMPARED * n), (passed, n))


def least_iterations(n_cases: int) -> int:
    """So many iterations does each of `n_cases` cases need for one that stops passing to be reported by itself."""
    level = ALPHA / _questions(n_cases)
    return next(n for n in range(1, 1000) if _p([_dropped(n, 0)]) * n_cases < level)
