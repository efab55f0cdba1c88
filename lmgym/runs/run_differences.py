"""Settings in which runs differ, and whether their values are the same quantity.

A masked model's pseudo-log-likelihood is not a surprisal, a mean over tokens is not their sum, and corrected bits
are not raw ones: margins of such runs are not subtracted. Other differences (start token, end token, joining) are
shown next to the numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmgym.text.columns import described

BITS = {"score_kind": "Kind of score", "metric": "Region value", "whitespace": "Whitespace correction"}
"""Settings that must agree for margins to be the same quantity."""
FACTS = BITS | {"bos": "Start token", "eos": "End token", "join": "Joining"}
NOT_STATED = "not stated"
OUTCOMES_ONLY = "outcomes only"
MASKED_WORDS = (
    "The model sees the words on both sides of each token, so these bits and margins are not comparable with those of "
    "left-to-right models."
)
"""Note next to pseudo-log-likelihoods on pages and in files."""


@dataclass(frozen=True)
class ScoredAs:
    """Scoring settings of a run. `policy` has the keys of `ScoringPolicy`; uploads have only the keys stated in their
    files. A run without surprisals has outcomes only.
    """

    score_kind: str
    policy: Mapping[str, Any]
    has_surprisals: bool

    def fact(self, key: str) -> str | None:
        """Return the value of a setting (a key of FACTS) in words; "not stated" if the upload does not give it. None
        for policy settings of a run without surprisals, and for an unstated whitespace correction."""
        if key == "score_kind":
            return self.score_kind if self.has_surprisals else OUTCOMES_ONLY
        if not self.has_surprisals:
            return None
        value = self.policy.get(key)
        if value is None:  # uploaded bits are raw unless stated otherwise
            return None if key == "whitespace" else NOT_STATED
        if key == "eos":
            return "scored" if value else "not scored"
        return str(value)


@dataclass(frozen=True)
class RunDifference:
    """A setting, other than model and revision, in which runs differ."""

    fact: str = described("the setting, a key of FACTS")
    values: tuple[str | None, ...] = described("in the order of the runs; null: unknown, or no run")

    @property
    def what(self) -> str:
        return FACTS[self.fact]


def run_differences(runs: Sequence[ScoredAs | None]) -> list[RunDifference]:
    """Find settings other than model and revision in which these runs differ."""
    differences = []
    for key in FACTS:
        values = tuple(None if run is None else run.fact(key) for run in runs)
        if len({value for value in values if value is not None}) > 1:
            differences.append(RunDifference(key, values))
    return differences


def same_bits(first: ScoredAs, second: ScoredAs) -> bool:
    """Return whether margins of both are the same quantity."""
    return not any(row.fact in BITS for row in run_differences([first, second]))


def counted_differences(comparisons: Iterable[Sequence[RunDifference]]) -> list[tuple[RunDifference, int]]:
    """Return each distinct difference with the number of comparisons that have it."""
    counts = Counter(row for rows in comparisons for row in rows)
    places = list(FACTS)
    return sorted(counts.items(), key=lambda pair: (places.index(pair[0].fact), -pair[1]))


def in_words(row: RunDifference, labels: Sequence[str]) -> str:
    """Format a difference, with runs grouped by value: “Region value: sum (GPT-2); mean (BERT)”."""
    by_value: dict[str, list[str]] = {}
    for value, label in zip(row.values, labels, strict=True):
        if value is not None:
            by_value.setdefault(value, []).append(label)
    return f"{row.what}: " + "; ".join(f"{value} ({', '.join(who)})" for value, who in by_value.items())
