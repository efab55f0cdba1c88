"""What a rate says against chance. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

from gym.runs.core.coverage import is_low

Standing: TypeAlias = Literal["above", "at", "below", "tied", "unknown-words", ""]


CHANCE_WORDS: dict[str, str] = {
    "at": "not distinguishable from chance",
    "below": "below chance",
    "tied": "no difference: ties",
    "unknown-words": "not compared with chance: too many unknown words",
}
"""As pages say it under a rate; above chance needs no word."""


def against_chance(
    *,
    ci_low: float | None,
    ci_high: float | None,
    chance: float | None,
    n_judged: int,
    n_ties: int,
    coverage: float | None = None,
) -> Standing:
    """above, at or below chance, as far as the 95% interval says; "" where there is nothing to compare.

    tied           below chance only because ties count as failed: with all ties as passes the interval would reach
                   chance. Equal sides are no difference, not a preference for the wrong one
    unknown-words  above chance, but the model knows too few of the words for that to mean anything, see
                   `coverage.LOW_COVERAGE`
    """
    if ci_low is None or ci_high is None or chance is None:
        return ""
    if ci_low > chance:
        return "unknown-words" if is_low(coverage) else "above"
    if ci_high >= chance:
        return "at"
    return "tied" if n_ties and ci_high + n_ties / n_judged >= chance else "below"
