"""Verdict on a rate against chance: word, mark, colour and column of every page, chart and file. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from lmgym.runs.coverage import is_low
from lmgym.stats import holm_of_known, n_of_interval, tail_above

Standing: TypeAlias = Literal["above", "at", "below", "tied", "unknown-words", ""]

ALPHA = 0.05
"""A one-sided p below this rejects chance, in either direction. The only threshold of a verdict."""

CHANCE_WORDS: dict[Standing, str] = {
    "above": "above chance",
    "at": "not distinguishable from chance",
    "below": "below chance",
    "tied": "no difference: ties",
    "unknown-words": "not compared with chance: too many unknown words",
}

CHANCE_TEST = ("p_below", "p_corrected", "p_below_corrected", "against_chance")
"""Attributes of a `Verdict`, and names in every output, next to `p`."""

ALONE = ("p_below", "against_chance")
"""Those of a rate that is not one of a family."""


class Rated(Protocol):
    """A rate with its counts: a `Score`, a `PredictionOutcome`, or the row of either."""

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


@dataclass(frozen=True, slots=True)
class Tails:
    """One-sided p values of a rate against chance, all exact or all corrected. `below_with_ties`: that of `below` if
    all ties had passed."""

    above: float
    below: float
    below_with_ties: float


def effective_items(score: Rated) -> float:
    """To how many independent outcomes the run's items are worth: as many as there are, unless items with several
    predictions were judged one by one (`lmgym.stats.effective_n`). The score has a rate."""
    if score.judged == score.n or score.rate is None or score.low is None or score.high is None:
        return score.n
    return n_of_interval(score.rate, score.low, score.high)


def exact_tails(score: Rated) -> Tails | None:
    """None where there is nothing to compare. At a rate not under chance the lower tail is about .5 or more and is
    given as 1: neither a verdict nor the corrected p of another rate depends on it."""
    rate, chance, above = score.rate, score.chance, score.p
    if rate is None or chance is None or above is None or score.low is None or score.high is None:
        return None
    if rate >= chance:
        return Tails(above, 1.0, 1.0)
    n = effective_items(score)
    failed = score.judged - score.passed
    below = tail_above(failed / score.judged, n, 1 - chance)
    with_ties = below  # most rates have no ties, and a leaderboard has thousands of rates
    if score.ties:
        with_ties = tail_above((failed - score.ties) / score.judged, n, 1 - chance)
    return None if below is None or with_ties is None else Tails(above, below, with_ties)


def holm_tails(family: Sequence[Tails | None]) -> list[Tails | None]:
    """Each tail corrected by Holm's method over the family; rates without p do not count."""
    tails = [
        holm_of_known([None if one is None else getattr(one, name) for one in family])
        for name in Tails.__slots__
    ]
    return [None if p[0] is None else Tails(*p) for p in zip(*tails, strict=True)]


def against_chance(tails: Tails | None, *, coverage: float | None = None) -> Standing:
    """The verdict that the p values give; "" where there is nothing to compare.

    tails          corrected where the rate is one of a family, else exact
    tied           below chance only because ties count as failed: with all ties as passes it would not be. Equal sides
                   are no difference, not a preference for the wrong one
    unknown-words  above chance, but the model knows too few of the words for that to mean anything, see
                   `coverage.LOW_COVERAGE`
    """
    if tails is None:
        return ""
    if tails.above < ALPHA:
        return "unknown-words" if is_low(coverage) else "above"
    if tails.below >= ALPHA:
        return "at"
    return "below" if tails.below_with_ties < ALPHA else "tied"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A rate's tests against chance and what they say. `holm`: corrected for the family; None where the rate stands
    alone, and then the exact p decides."""

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
        """The p that decides: the upper tail's; the lower tail's below chance, of ties the one with ties as passes.
        None where nothing is compared, too many words being unknown."""
        return self._deciding(self.holm or self.exact)

    @property
    def decisive_p_uncorrected(self) -> float | None:
        """The same, uncorrected."""
        return self._deciding(self.exact)

    def _deciding(self, tails: Tails | None) -> float | None:
        if tails is None or self.against_chance == "unknown-words":
            return None
        return {"below": tails.below, "tied": tails.below_with_ties}.get(self.against_chance, tails.above)

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
    """Of a rate that is not one of a family."""
    return Verdict(exact_tails(score), coverage=coverage)


def verdicts(family: Sequence[Rated], *, coverage: float | None = None) -> list[Verdict]:
    """Of rates that are tested together: the predictions of one run."""
    exact = [exact_tails(one) for one in family]
    return [Verdict(own, holm, coverage) for own, holm in zip(exact, holm_tails(exact), strict=True)]
