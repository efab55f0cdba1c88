"""Leaderboard of a version for page, chart and API: submissions, the all-NONE baseline and published results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.core.cache import cache

from gym.propara.models import AnswerSetVersion, PublishedResult, Submission
from lmgym.propara.digest import RESAMPLES, metrics
from lmgym.propara.grid import all_none_grid, read_grids
from lmgym.propara.process_report import evaluate_process
from lmgym.propara.report import EVALUATOR, Report
from lmgym.propara.scoring import QUESTIONS

SORTS: dict[str, tuple[str, ...]] = {
    "f1": ("reference", "f1"),
    "precision": ("reference", "precision"),
    "recall": ("reference", "recall"),
    **{name: ("reference", "questions", name, "f1") for name in QUESTIONS},
    "corrected": ("corrected", "f1"),
}
ORDERS = (*SORTS, "system", "created")
_KEEP = 30 * 24 * 3600


@dataclass(frozen=True)
class BoardRow:
    """A row of the leaderboard. `report`: those values of `lmgym.propara.digest.metrics` that are known.
    `rank`: rank by official F1 as printed, among submissions with a score; None for other rows."""

    kind: str
    system: str
    report: dict[str, Any]
    created: datetime | None = None
    submission: Submission | None = None
    published: PublishedResult | None = None
    rank: int | None = None

    @property
    def reference(self) -> dict[str, Any] | None:
        return self.report.get("reference")

    @property
    def f1(self) -> float | None:
        return number_at(self.report, SORTS["f1"])

    @property
    def low(self) -> float | None:
        """Lower limit of the 95% interval of F1."""
        return number_at(self.report, ("intervals", "f1", "low"))

    @property
    def high(self) -> float | None:
        """Upper limit of the 95% interval of F1."""
        return number_at(self.report, ("intervals", "f1", "high"))


def leaderboard(
    version: AnswerSetVersion, submissions: Iterable[Submission], sort: str = "-f1"
) -> list[BoardRow]:
    """Return all rows, sorted by `in_order`. Submissions that wait for agreement or are not saved are omitted."""
    rows = _ranked([_of(row) for row in submissions if row.is_scored])
    rows += [BoardRow("baseline", "All NONE", all_none(version))]
    rows += [
        BoardRow("published", row.system, {"reference": _published(row)}, published=row)
        for row in version.published.all()
    ]
    return in_order(rows, sort)


def _of(row: Submission) -> BoardRow:
    return BoardRow("submission", row.system, row.report, row.created, submission=row)


def _ranked(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """Rank by F1 to three decimals, as printed by the reference; equal values share a rank."""
    printed = sorted((round(row.f1, 3) for row in rows if row.f1 is not None), reverse=True)
    return [
        replace(row, rank=printed.index(round(row.f1, 3)) + 1) if row.f1 is not None else row for row in rows
    ]


def _published(row: PublishedResult) -> dict[str, Any]:
    return {"precision": row.precision, "recall": row.recall, "f1": row.f1, "questions": {}}


def all_none(version: AnswerSetVersion) -> dict[str, Any]:
    """Score all-NONE predictions. The result is cached, because neither a version nor its scores change."""
    key = f"propara-all-none-{EVALUATOR}-{RESAMPLES}-{version.sha256}"
    known: dict[str, Any] | None = cache.get(key)
    if known is None:
        processes = [
            evaluate_process(grid, all_none_grid(grid))
            for grid in read_grids(version.answers, "answers").values()
        ]
        known = metrics(Report.of(processes))
        cache.set(key, known, _KEEP)
    return known


def in_order(rows: Sequence[BoardRow], sort: str) -> list[BoardRow]:
    """Sort by one of ORDERS (descending with "-"), or by F1 for any other `sort`. Rows without the value come last."""
    key, down = sort.removeprefix("-"), sort.startswith("-")
    if key == "system":
        return sorted(rows, key=lambda row: row.system.casefold(), reverse=down)
    if key == "created":
        dated = [row for row in rows if row.created is not None]
        rows_with_date = sorted(dated, key=lambda row: row.created or 0, reverse=down)
        return rows_with_date + [row for row in rows if row.created is None]
    path = SORTS.get(key, SORTS["f1"])
    sign = -1 if down or key not in SORTS else 1

    def place(row: BoardRow) -> tuple[bool, float, str]:
        value = number_at(row.report, path)
        return value is None, sign * (value or 0.0), row.system.casefold()

    return sorted(rows, key=place)


def number_at(report: dict[str, Any], path: tuple[str, ...]) -> float | None:
    value: Any = report
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, int | float) else None
