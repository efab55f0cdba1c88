"""Missing rates of a table or mean and their reasons, so that nothing is left out silently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmgym.runs.rules import FIRST, Rule
from lmgym.text.columns import described

NOT_RUN = "not run"
MOST_NAMED = 5
"""Maximum number of suites or cells named in a sentence; the others are counted."""


@dataclass(frozen=True)
class MissingRate:
    """A model's missing rate on a suite. The run that counts, if any, lacks predictions that the rule needs."""

    model: str = described("slug of the model")
    label: str = described("unique name of the model")
    suite: str = described("key of the suite in the table")
    rule: Rule = described("the scoring rule")
    run: str | None = described("the run that counts; null: not run", default=None)
    uploaded: bool = False
    predictions_held: int | None = described("predictions that the run has; null: not run", default=None)
    predictions: int | None = described("predictions of the suite; null: not run", default=None)

    @property
    def why(self) -> str:
        if self.predictions_held is None or self.predictions is None:
            return NOT_RUN
        if self.predictions_held >= self.predictions:
            return "its run has no items"
        lacking = ", but not the first" if self.rule is FIRST else ""
        return f"its run has {self.predictions_held} of {self.predictions} predictions{lacking}"

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in MISSING}


MISSING = ("model", "suite", "why", "run", "predictions_held", "predictions")
"""Attributes of a `MissingRate`, exported under these names."""


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
