"""Verdicts of a leaderboard's cells. A family of tests is one model's results on the suites of a collection or tag,
independent of filters and of other models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from lmgym.runs.against_chance import Tails, Verdict, alone, holm_tails
from lmgym.runs.coverage import coverage_share
from lmgym.runs.rules import RULE_COUNTS, RuleCounts

Place: TypeAlias = tuple[int, int]
"""A cell: (revision id, model id)."""
Values: TypeAlias = tuple[object, ...]
"""Values of a run: RULE_COUNTS, n_words, n_unknown_words, key, …"""
_KEY = len(RULE_COUNTS) + 2


def verdicts_of(
    shown: Mapping[Place, Values], counting: Mapping[Place, Values], family: Sequence[int] | None
) -> dict[Place, Verdict]:
    """Return the verdict of each shown run.

    Args:
        counting: the runs that count without filters, i.e. the members of the families.
        family: revisions tested together; None = each run separately.
    """
    separate = {place: _alone(values[:_KEY]) for place, values in shown.items()}
    if family is None:
        return separate
    holm = _corrected(shown, separate, counting, family)
    return {place: replace(verdict, holm=holm.get(place)) for place, verdict in separate.items()}


@lru_cache(maxsize=20_000)  # of 50,000 cells, most share their counts with another: suites have tens of items
def _alone(counts: Values) -> Verdict:
    *of_rule, n_words, n_unknown_words = counts
    return alone(RuleCounts(*of_rule), coverage=coverage_share(n_words, n_unknown_words))  # type: ignore[arg-type]


def _corrected(
    shown: Mapping[Place, Values],
    separate: Mapping[Place, Verdict],
    counting: Mapping[Place, Values],
    family: Sequence[int],
) -> dict[Place, Tails | None]:
    corrected: dict[Place, Tails | None] = {}
    same = {place for place, values in shown.items() if counting[place][_KEY] == values[_KEY]}
    for model in {model for _, model in shown}:
        places = [(revision, model) for revision in family if (revision, model) in counting]
        tails = [_alone(counting[place][:_KEY]).exact for place in places]
        for k, (place, tail) in enumerate(zip(places, holm_tails(tails), strict=True)):
            if place in same:
                corrected[place] = tail
            elif place in shown:  # a filter shows another run, which replaces the one that counts
                corrected[place] = holm_tails([*tails[:k], separate[place].exact, *tails[k + 1 :]])[k]
    return corrected
