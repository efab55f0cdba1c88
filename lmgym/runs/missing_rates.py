"""Missing rates of a table or mean and their reasons, so that nothing is left out silently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmgym.runs.rules import FIRST, Rule

NOT_RUN = "not run"
MOST_NAMED = 5
"""Maximum number of suites or cells named in a sentence; the others are counted."""


@dataclass(frozen=True)
class MissingRate:
    """A model's missing rate on a suite. `run`: the run that counts, if any; it has `held` of the suite's `of`
    predictions and lacks some that the rule needs. `suite`: key of the suite in the table."""

    model: str
    label: str
    suite: str
    rule: Rule
    run: str = ""
    uploaded: bool = False
    held: int = 0
    of: int = 0

    @property
    def why(self) -> str:
        if not self.run:
            return NOT_RUN
        if self.held >= self.of:
            return "its run has no items"
        lacking = ", but not the first" if self.rule is FIRST else ""
        return f"its run has {self.held} of {self.of} predictions{lacking}"

    def as_json(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "suite": self.suite,
            "why": self.why,
            "run": self.run or None,
            "predictions_held": self.held if self.run else None,
            "predictions": self.of if self.run else None,
        }


def some(names: Sequence[str], most: int = MOST_NAMED) -> str:
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")


def grouped_gaps(gaps: Iterable[MissingRate], most: int = MOST_NAMED) -> list[str]:
    """Group suites by reason, as in "a, b (not run)". Suites that were run come first."""
    by_why: dict[str, list[str]] = {}
    for gap in sorted(gaps, key=lambda gap: not gap.run):
        by_why.setdefault(gap.why, []).append(gap.suite)
    return [f"{some(list(dict.fromkeys(names)), most)} ({why})" for why, names in by_why.items()]


def by_model(gaps: Iterable[MissingRate], most: int = MOST_NAMED) -> Mapping[str, str]:
    """Map each model's label to its missing rates in words."""
    gaps_by_label: dict[str, list[MissingRate]] = {}
    for gap in gaps:
        gaps_by_label.setdefault(gap.label, []).append(gap)
    return {label: "; ".join(grouped_gaps(rows, most)) for label, rows in gaps_by_label.items()}


def in_words(gaps: Sequence[MissingRate]) -> str:
    """Describe gaps for a note: runs without a rate, then suites not run."""
    lacking, not_run = [gap for gap in gaps if gap.run], [gap for gap in gaps if not gap.run]
    parts = []
    if lacking:
        cells = [f"{gap.label} on {gap.suite} ({gap.why})" for gap in lacking]
        parts.append(f"No pass rate under this rule, so not in the means: {some(cells)}.")
    if not_run:
        parts.append(f"Not run: {some([f'{gap.label} on {gap.suite}' for gap in not_run])}.")
    return " ".join(parts)
