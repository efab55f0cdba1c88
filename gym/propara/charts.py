"""Charts of leaderboards and confusion matrices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gym.propara.board import SORTS, BoardRow, number_at
from gym.propara.models import AnswerSetVersion, Submission
from lmgym.charts.figure import Figure
from lmgym.charts.heatmap import heat_chart
from lmgym.charts.intervals import RowMark, interval_rows
from lmgym.propara.grid import ACTIONS
from lmgym.text.number_format import grouped


def board_figure(version: AnswerSetVersion, board: Sequence[BoardRow], sort: str) -> Figure | None:
    """Draw F1 of submissions, with intervals, and of published results. None if no submission has a score."""
    known = [row for row in board if row.kind != "baseline" and row.f1 is not None]
    if not any(row.submission for row in known):
        return None
    baseline = next((row.f1 for row in board if row.kind == "baseline"), None)
    kinds = ("scored here", "published") if any(row.published for row in known) else ()
    marks = [
        RowMark(row.system, row.f1, row.low, row.high, baseline, int(row.published is not None))
        for row in known
    ]
    title = f"{version.answer_set.title} v{version.number}"
    draw = partial(
        interval_rows,
        marks,
        title,
        unit="F1, official metric",
        reference="All NONE",
        series=kinds,
        note=f"Bootstrap over {version.n_processes} processes",
    )
    header = (
        "system", "kind", "rank", "f1", "low", "high", "precision", "recall", "corrected_f1", "n", "n_repairs",
        "n_samples", "citation",
    )  # fmt: skip
    rows = [
        (
            row.system, row.kind, row.rank, row.f1, row.low, row.high,
            number_at(row.report, SORTS["precision"]), number_at(row.report, SORTS["recall"]),
            number_at(row.report, SORTS["corrected"]), version.n_processes,
            len(row.submission.repairs) if row.submission else None,
            row.submission.n_samples if row.submission else None,
            row.published.citation if row.published else "",
        )
        for row in board
        if row.f1 is not None
    ]  # fmt: skip
    query = {"set": version.answer_set.slug, "v": str(version.number), "sort": sort}
    return Figure("propara-board", title, draw, header, rows, query, has_narrow=True)


def confusion_figure(submission: Submission) -> Figure:
    """Draw the number of steps by action in the answers and predicted action, coloured by share of the row's total."""
    counts = submission.report["confusion"]
    actions = [action for action in ACTIONS if action in counts]
    grid = [[counts[answer].get(predicted, 0) for predicted in actions] for answer in actions]
    shares = [[n / sum(row) if sum(row) else None for n in row] for row in grid]
    title = f"{submission.system}: actions"
    draw = partial(
        heat_chart,
        actions,
        actions,
        shares,
        title,
        description="Steps; a stronger colour means a greater share",
        axes=("answers", "prediction"),
        texts=[[grouped(n) for n in row] for row in grid],
        unit=" steps",
        missing="none in the answers",
    )
    rows = [
        (answer, predicted, grid[r][k], shares[r][k])
        for r, answer in enumerate(actions)
        for k, predicted in enumerate(actions)
    ]
    header = ("answer", "prediction", "n", "share")
    return Figure("propara-actions", title, draw, header, rows, {"submission": submission.key})
