"""Two submissions to one version: paired intervals, wins and losses, from what is stored of their reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gym.propara.core.bootstrap import Comparison, Floats, compare_matrices, matrix_of
from gym.propara.models import Submission


@dataclass(frozen=True)
class Compared:
    """`rows`: by process, the greatest difference first."""

    overall: Comparison
    rows: list[dict[str, Any]]

    @property
    def is_apart(self) -> bool:
        """Does the interval of the difference exclude 0?"""
        return self.overall.low > 0 or self.overall.high < 0

    def as_dict(self) -> dict[str, Any]:
        return {**self.overall.as_dict(), "rows": self.rows}


def compare_submissions(first: Submission, second: Submission) -> Compared:
    """Raises ValueError when one of them has no score."""
    ids = [row["id"] for row in first.report["processes"]]
    overall = compare_matrices(ids, _matrix(first), _matrix(second))
    other = {row["id"]: row for row in second.report["processes"]}
    rows = [
        {
            "id": row["id"],
            "first": row["f1"],
            "second": other[row["id"]]["f1"],
            "difference": overall.by_process[row["id"]],
            "first_corrected": row["corrected_f1"],
            "second_corrected": other[row["id"]]["corrected_f1"],
        }
        for row in first.report["processes"]
    ]
    return Compared(overall, sorted(rows, key=lambda row: (-abs(row["difference"]), row["id"])))


def _matrix(submission: Submission) -> Floats:
    rows = submission.report["processes"]
    for row in rows:
        if row["scores"] is None:
            raise ValueError(f"Process {row['id']} has no score.")
    return matrix_of(row["scores"] for row in rows)
