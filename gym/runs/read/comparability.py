"""Whether the numbers of runs can be compared: what their bits are, and how they were made.

A masked model's pseudo-log-likelihood is no surprisal, the mean of a region is not its sum, and corrected bits are not
raw ones: margins of such runs are not subtracted from each other. Other differences (start token, end token, joining)
are said beside the numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gym.runs.models import SuiteRun

BITS = {"score_kind": "Kind of score", "metric": "Region value", "whitespace": "Whitespace correction"}
"""Facts without which margins are not the same quantity."""
FACTS = BITS | {"bos": "Start token", "eos": "End token", "join": "Joining"}
NOT_SAID = "not said"
OUTCOMES_ALONE = "outcomes alone"


@dataclass(frozen=True)
class RunDifference:
    """A fact in which runs differ, and what each of them has in their order; None where a run is missing or
    cannot say."""

    key: str
    values: tuple[str | None, ...]

    @property
    def what(self) -> str:
        return FACTS[self.key]


def run_differences(runs: Sequence[SuiteRun | None]) -> list[RunDifference]:
    """In what these runs differ, apart from model and revision."""
    found = []
    for key in FACTS:
        said = [run if run is None or key == "score_kind" or run.has_surprisals else None for run in runs]
        values = tuple(None if run is None else _fact(run, key) for run in said)
        if len({value for value in values if value is not None}) > 1:
            found.append(RunDifference(key, values))
    return found


def same_bits(first: SuiteRun, second: SuiteRun) -> bool:
    """Whether margins of both are the same quantity."""
    return not any(row.key in BITS for row in run_differences([first, second]))


def counted(found: Iterable[Sequence[RunDifference]]) -> list[tuple[RunDifference, int]]:
    """Each difference once, with the number of comparisons that have it."""
    counts = Counter(row for rows in found for row in rows)
    places = list(FACTS)
    return sorted(counts.items(), key=lambda pair: (places.index(pair[0].key), -pair[1]))


def in_words(row: RunDifference, labels: Sequence[str]) -> str:
    """“Region value: sum (GPT-2), mean (BERT)”, the runs with the same value together."""
    by_value: dict[str, list[str]] = {}
    for value, label in zip(row.values, labels, strict=True):
        if value is not None:
            by_value.setdefault(value, []).append(label)
    return f"{row.what}: " + "; ".join(f"{value} ({', '.join(who)})" for value, who in by_value.items())


def _fact(run: SuiteRun, key: str) -> str | None:
    if key == "score_kind":
        return run.score_kind if run.has_surprisals else OUTCOMES_ALONE
    value = run.policy.get(key)
    if value is None:  # uploaded bits are raw unless somebody corrected them: not saying so is no difference
        return None if key == "whitespace" else NOT_SAID
    if key == "eos":
        return "scored" if value else "not scored"
    return str(value)
