"""A leaderboard as files: wide and long tables, JSON."""

from __future__ import annotations

from typing import Any

from gym.results.leaderboard import Board, Cell, Mean
from gym.results.tables import Table

LONG_HEADER = (
    "model", "model_name", "suite", "revision", "suite_sha256", "tags", "weight", "rule", "run", "source", "n_items",
    "passed", "judged", "rate", "ci_low_95", "ci_high_95", "chance", "p_above_chance_one_sided", "ties",
    "too_close", "not_evaluable",
)  # fmt: skip


def note(board: Board) -> str:
    """What every table and export says about its numbers."""
    rule = board.options.rule
    weights = "unweighted" if not board.is_weighted else "weighted"
    seeds = " Rows with several seeds: mean over seeds." if board.options.group else ""
    n = len(board.columns)
    return (
        f"Scoring rule: {rule.label} ({rule.counts}; as {rule.used_by}). SG score: {weights} mean of suite accuracies "
        f"over {n} {'suite' if n == 1 else 'suites'}. 95% intervals: Wilson; of means, MOVER. "
        f"Ties count as failed.{seeds}"
    )


def wide(board: Board) -> Table:
    """One row per model, a column per suite: rates 0..1, as printed in papers."""
    fixed = ("model", "SG score", "ci_low_95", "ci_high_95", "suites run")
    tags = tuple(f"tag {tag}" for tag in board.tags)
    suites = tuple(column.suite.slug for column in board.columns)
    rows = tuple(
        (
            row.name,
            *_mean(row.score),
            row.score.n if row.score else 0,
            *(mean.rate if mean else None for mean in row.tags),
            *(cell.rate if cell else None for cell in row.cells),
        )
        for row in board.rows
    )
    header = (*fixed, *tags, *suites)
    return Table("Models on suites", header, rows, (False, *([True] * (len(header) - 1))), note(board))


def _mean(mean: Mean | None) -> tuple[float | None, float | None, float | None]:
    return (mean.rate, mean.low, mean.high) if mean else (None, None, None)


def long_rows(board: Board) -> list[tuple[Any, ...]]:
    """One row per model and suite that has a result; see LONG_HEADER."""
    return [
        (
            row.model.slug if len(row.models) == 1 else row.name,
            row.name,
            column.suite.slug,
            column.revision.number,
            column.revision.sha256,
            " ".join(column.tags),
            column.weight,
            board.options.rule.key,
            cell.run if cell.spread is None else None,
            "uploaded" if cell.uploaded else "computed",
            cell.n,
            cell.passed,
            cell.judged,
            cell.rate,
            cell.low,
            cell.high,
            cell.chance,
            cell.chance_p,
            cell.ties,
            cell.too_close,
            cell.not_evaluable,
        )
        for row in board.rows
        for column, cell in zip(board.columns, row.cells, strict=True)
        if cell is not None
    ]


def as_json(board: Board, address: str) -> dict[str, Any]:
    """Everything on the page; rates are 0..1, what is missing is null."""
    return {
        "address": address,
        "rule": {
            "key": board.options.rule.key,
            "label": board.options.rule.label,
            "counts": board.options.rule.counts,
        },
        "note": note(board),
        "suites": [
            {
                "slug": column.suite.slug,
                "title": column.suite.title,
                "revision": column.revision.number,
                "sha256": column.revision.sha256,
                "tags": list(column.tags),
                "weight": column.weight,
                "chance": column.chance,
            }
            for column in board.columns
        ],
        "models": [
            {
                "model": [model.slug for model in row.models],
                "name": row.name,
                "parameters": row.model.parameters,
                "score": _mean_json(row.score),
                "tags": {tag: _mean_json(mean) for tag, mean in zip(board.tags, row.tags, strict=True)},
                "suites": {
                    column.suite.slug: _cell_json(cell)
                    for column, cell in zip(board.columns, row.cells, strict=True)
                },
            }
            for row in board.rows
        ],
    }


def _mean_json(mean: Mean | None) -> dict[str, Any] | None:
    if mean is None:
        return None
    return {
        "rate": mean.rate,
        "interval": [mean.low, mean.high],
        "suites_run": mean.n,
        "suites": mean.of,
        "seeds": mean.spread.n if mean.spread else None,
        "deviation_between_seeds": mean.spread.deviation if mean.spread else None,
    }


def _cell_json(cell: Cell | None) -> dict[str, Any] | None:
    if cell is None:
        return None
    return {
        "run": cell.run,
        "rate": cell.rate,
        "interval": [cell.low, cell.high],
        "passed": cell.passed,
        "judged": cell.judged,
        "n_items": cell.n,
        "chance": cell.chance,
        "p_above_chance_one_sided": cell.chance_p,
        "ties": cell.ties,
        "too_close": cell.too_close,
        "not_evaluable": cell.not_evaluable,
        "source": "uploaded" if cell.uploaded else "computed",
    }
