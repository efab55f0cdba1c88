"""Tests of pass rates against chance, and the verdict that pages, charts and files show. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from lmgym.runs.coverage import is_low
from lmgym.stats import holm_of_known, n_of_interval, tail_above

Standing: TypeAlias = Literal["above", "at", "below", "tied", "missing", "unknown-words", ""]

ALPHA = 0.05
"""One-sided significance level for rejecting chance in either direction; the only level that verdicts use."""

CHANCE_WORDS: dict[Standing, str] = {
    "above": "above chance",
    "at": "not distinguishable from chance",
    "below": "below chance",
    "tied": "no difference: ties",
    "missing": "undecided: missing values",
    "unknown-words": "not compared with chance: too many unknown words",
}

CHANCE_TEST = ("p_below", "p_corrected", "p_below_corrected", "against_chance")
"""Attributes of a `Verdict`, exported under these names next to `p`."""

ALONE = ("p_below", "against_chance")
"""The part of CHANCE_TEST that applies to a rate tested outside a family."""


class Rated(Protocol):
    """A rate with its counts: a `Score`, a `PredictionOutcome`, or the database row of either."""

    @property
    def rate(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def chance(self) -> float | None: ...
    @property
    def p(self) -> float | None: ...
    @property
    def n(self) -> int: ...
    @property
    def judged(self) -> int: ...
    @property
    def passed(self) -> int: ...
    @property
    def ties(self) -> int: ...
    @property
    def not_evaluable(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Tails:
    """One-sided p values of a rate against chance, all exact or all corrected. `below_with_ties`: `below` if ties
    counted as passed; `below_with_missing`: if ties and outcomes without a value did."""

    above: float
    below: float
    below_with_ties: float
    below_with_missing: float


def effective_items(score: Rated) -> float:
    """Return the effective number of independent outcomes: n items, or more if items have several predictions
    that were judged separately (`lmgym.stats.effective_n`)."""
    if score.judged == score.n or score.rate is None or score.low is None or score.high is None:
        return score.n
    return n_of_interval(score.rate, score.low, score.high)


def exact_tails(score: Rated) -> Tails | None:
    """Run the exact one-sided tests; None without a rate or chance level. At or above chance, the lower tail (about .5
    or more) is reported as 1, which affects neither the verdict nor the corrected p of other rates."""
    rate, chance, above = score.rate, score.chance, score.p
    if rate is None or chance is None or above is None or score.low is None or score.high is None:
        return None
    if rate >= chance:
        return Tails(above, 1.0, 1.0, 1.0)
    n = effective_items(score)
    failed = score.judged - score.passed
    tails: dict[int, float | None] = {}
    lenient = score.ties, score.ties + score.not_evaluable  # most rates have neither, and need one test
    for excused in {0, *lenient}:
        tails[excused] = tail_above((failed - excused) / score.judged, n, 1 - chance)
    below, with_ties, with_missing = tails[0], *(tails[excused] for excused in lenient)
    if below is None or with_ties is None or with_missing is None:
        return None
    return Tails(above, below, with_ties, with_missing)


def holm_tails(family: Sequence[Tails | None]) -> list[Tails | None]:
    """Correct each tail over the family by Holm's method. Rates without p are not counted."""
    tails = [
        holm_of_known([None if member is None else getattr(member, name) for member in family])
        for name in Tails.__slots__
    ]
    return [None if p[0] is None else Tails(*p) for p in zip(*tails, strict=True)]


def against_chance(tails: Tails | None, *, coverage: float | None = None) -> Standing:
    """Return the verdict from p values; "" if nothing was tested.

    Args:
        tails: corrected if the rate is one of a family, else exact.
        coverage: share of words the model knows; None = not counted.

    Returns:
        "above", "at" or "below"; "tied": below chance only because ties count as failed; "missing": because outcomes
        without a value do, too; "unknown-words": above chance, but the model knows too few of the words
        (`coverage.LOW_COVERAGE`) for the result to be meaningful.
    """
    if tails is None:
        return ""
    if tails.above < ALPHA:
        return "unknown-words" if is_low(coverage) else "above"
    if tails.below >= ALPHA:
        return "at"
    if tails.below_with_ties >= ALPHA:
        return "tied"
    return "below" if tails.below_with_missing < ALPHA else "missing"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Tests of a rate against chance and their verdict. `holm`: p values corrected for the family; None for a single
    rate, which is judged by its exact p."""

    exact: Tails | None = None
    holm: Tails | None = None
    coverage: float | None = None

    @property
    def against_chance(self) -> Standing:
        return against_chance(self.holm or self.exact, coverage=self.coverage)

    @property
    def words(self) -> str:
        return CHANCE_WORDS.get(self.against_chance, "")

    @property
    def decisive_p(self) -> float | None:
        """The p value behind the verdict: the upper tail; if below chance, the lower tail; if `tied` or
        `missing`, the lower tail with those outcomes counted as passed. None if nothing was tested, or too many words
        are unknown."""
        return self._deciding(self.holm or self.exact)

    @property
    def decisive_p_uncorrected(self) -> float | None:
        """`decisive_p` before correction."""
        return self._deciding(self.exact)

    def _deciding(self, tails: Tails | None) -> float | None:
        if tails is None or self.against_chance == "unknown-words":
            return None
        lower = {
            "below": tails.below,
            "tied": tails.below_with_ties,
            "missing": tails.below_with_missing,
        }
        return lower.get(self.against_chance, tails.above)

    @property
    def p_below(self) -> float | None:
        return self.exact.below if self.exact else None

    @property
    def p_corrected(self) -> float | None:
        return self.holm.above if self.holm else None

    @property
    def p_below_corrected(self) -> float | None:
        return self.holm.below if self.holm else None


NO_VERDICT = Verdict()


def alone(score: Rated, *, coverage: float | None = None) -> Verdict:
    """Return the verdict of a single rate, uncorrected."""
    return Verdict(exact_tails(score), coverage=coverage)


def verdicts(family: Sequence[Rated], *, coverage: float | None = None) -> list[Verdict]:
    """Return the verdicts of rates tested together, e.g. the predictions of one run."""
    exact = [exact_tails(rate) for rate in family]
    return [Verdict(tails, holm, coverage) for tails, holm in zip(exact, holm_tails(exact), strict=True)]
