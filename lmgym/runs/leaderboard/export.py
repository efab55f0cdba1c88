"""Export a leaderboard: wide and long tables, JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, TypeAlias

from lmgym.runs.against_chance import CHANCE_TEST
from lmgym.runs.coverage import COVERAGE, is_low
from lmgym.runs.leaderboard.board import Board, Cell, Column, Mean, Row
from lmgym.runs.leaderboard.records import BoardCell, BoardMean, BoardSuite
from lmgym.runs.missing_rates import MissingRate, by_model, in_words, some
from lmgym.runs.paper import count_range, percent_cell, rate_cell
from lmgym.runs.rules import RULE_COUNTS, rule_json
from lmgym.runs.run_differences import MASKED_WORDS
from lmgym.stats import Spread
from lmgym.text.columns import record
from lmgym.text.paper_tables import Cell as PaperCell
from lmgym.text.paper_tables import Estimate, PaperTable, transposed

_RATE = ("run", "source", *RULE_COUNTS, *CHANCE_TEST)
_HOW = ("seeds", "sd_between_seeds", "policy", "score_kind", "whitespace", *COVERAGE)
LONG_HEADER = (
    "model", "model_name", "suite", "revision", "suite_sha256", "tags", "weight", "rule", *_RATE, "family", *_HOW,
    "missing",
)  # fmt: skip


def note(board: Board, *, is_for_paper: bool = False) -> str:
    """Write the note on how the numbers were computed, for every table and file. That of a table for a paper names
    suites by their titles, and says nothing of verdicts against chance, which the table lacks."""
    shown = {column.key: column.title if is_for_paper else column.key for column in board.columns}
    rule = board.options.rule
    weights = "weighted" if board.is_weighted else "unweighted"
    n = len(board.columns)
    parts = [
        f"Scoring rule: {rule.label} ({rule.counts}; as {rule.used_by}). SG score: {weights} mean of pass rates "
        f"over {n} {'suite' if n == 1 else 'suites'}{_weights(board, shown)}. 95% intervals: Wilson; of means, "
        "Wilson with the variance of the mean. Ties count as failed.",
        "" if is_for_paper else board.tested,
    ]
    if board.sharing:
        parts.append(_sharing(board, [shown.get(key, key) for key in board.sharing]))
    if any(len(row.models) > 1 for row in board.rows):
        parts.append("Rows with several seeds: mean over seeds, no interval.")
    if board.other_policies:
        cells = [
            f"{row.label} on {shown[column.key]} ({policy})" for row, column, policy in board.other_policies
        ]
        parts.append(f"Not under the default policy: {some(cells)}.")
    if board.unranked:
        names = [row.label for row in board.unranked]
        parts.append(f"Not ranked, because suites are missing: {some(names)}.")
    low = [] if is_for_paper else _not_compared(board)
    if low:
        parts.append(f"Not compared with chance: {some(low)}.")
    if board.masked:
        names = [row.label for row in board.masked]
        parts.append(f"Not surprisals: {some(names)}. {MASKED_WORDS}")
    if board.gaps:
        parts.append(in_words([replace(gap, suite=shown.get(gap.suite, gap.suite)) for gap in board.gaps]))
    if board.dropped:
        cells = [f"{gap.suite} ({gap.label}: {gap.why})" for gap in board.dropped]
        parts.append(f"Left out, because not every model has run them: {some(cells)}.")
    return " ".join(filter(None, parts))


def _not_compared(board: Board) -> list[str]:
    """Name the cells above chance whose model knows too few of the words."""
    return [
        f"{row.label} on {column.key} ({cell.coverage_words})"
        for row in board.rows
        for column, cell in zip(board.columns, row.cells, strict=True)
        if cell is not None
        and is_low(cell.verdict.coverage)
        and cell.verdict.against_chance == "unknown-words"
    ]


def _sharing(board: Board, names: Sequence[str]) -> str:
    """Name the suites that share material and describe the effect on intervals."""
    suites = f"Suites whose items share material: {some(names)}."
    known = [factor for factor in board.shared_factors if factor is not None]
    if not board.shared_factors:
        return suites
    if len(known) < len(board.shared_factors):
        return f"{suites} Intervals of means assume independent items: the table is too large to account for this."
    least, most = f"{min(known):.2f}", f"{max(known):.2f}"
    times = least if least == most else f"{least} to {most}"
    return (
        f"{suites} Intervals of means account for this: the standard error of an SG score is {times} times as large "
        "as with independent items."
    )


def weights_column(board: Board) -> dict[str, str]:
    """Return the weights as a column of wide files: {"weights": "a:2,b:0.5"}. Empty if all weights are 1."""
    named = [f"{column.key}:{column.weight:g}" for column in board.columns if column.weight != 1]
    return {"weights": ",".join(named)} if named else {}


def _weights(board: Board, names: Mapping[str, str]) -> str:
    """Format the weights in brackets: " (weights a:2,b:0.5; others 1)"; empty if all are 1."""
    weighted = [f"{names[column.key]}:{column.weight:g}" for column in board.columns if column.weight != 1]
    others = "; others 1" if len(weighted) < len(board.columns) else ""
    return f" (weights {','.join(weighted)}{others})" if weighted else ""


WideTable: TypeAlias = tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]


def wide(board: Board) -> WideTable:
    """Return header and rows of a table with one row per model and one column per suite: rates 0..1."""
    fixed = ("model", "rank", "SG score", "low", "high", "suites run", "whitespace")
    between = ("seeds", "sd between seeds", "members") if board.options.group else ()
    policies = ("other policies",) if board.other_policies else ()
    tags = tuple(f"tag {tag}" for tag in board.tags)
    suites = tuple(column.key for column in board.columns)
    rows = tuple(
        (
            row.label,
            row.rank,
            *mean_and_interval(row.score),
            row.score.suites_run if row.score else 0,
            "; ".join(dict.fromkeys(cell.whitespace for cell in row.cells if cell and cell.whitespace)),
            *((*seeds(row.score.spread if row.score else None), members(row)) if between else ()),
            *((_policies(row, board),) if policies else ()),
            *(mean.rate if mean else None for mean in row.tags),
            *(cell.rate if cell else None for cell in row.cells),
        )
        for row in board.rows
    )
    return (*fixed, *between, *policies, *tags, *suites), rows


def for_paper(board: Board, sources: str = "", label: str = "leaderboard") -> PaperTable:
    """Build the table of a paper, in the board's layout: ranks, SG scores and pass rates. `sources`: models and
    dates in sentences, for the notes."""
    scores = [row.score for row in board.rows]
    summary: list[tuple[PaperCell, ...]] = [
        ("Rank", None, *(None if row.rank is None else str(row.rank) for row in board.rows), None),
        ("SG score", None, *map(_mean_cell, scores), None),
    ]
    if board.options.group:
        spreads = [score.spread if score else None for score in scores]
        summary += [
            ("Seeds", None, *(str(spread.n) if spread else None for spread in spreads), None),
            ("SD between seeds", None, *(_deviation(spread) for spread in spreads), None),
        ]
    summary += [
        (tag, None, *(_mean_cell(row.tags[k]) for row in board.rows), None)
        for k, tag in enumerate(board.tags)
    ]
    suites = [_suite_row(board, k, column) for k, column in enumerate(board.columns)]
    columns = ("Suite", "n", *(row.label for row in board.rows), "Chance")
    notes = f"{note(board, is_for_paper=True)} {sources}".rstrip()
    table = PaperTable(
        "Pass rate on each suite, in percent", columns, (*summary, *suites), notes, label=label
    )
    return table if board.has_suites_in_rows else transposed(table, "Model")


def _suite_row(board: Board, k: int, column: Column) -> tuple[PaperCell, ...]:
    number = f" r{column.revision.number}"
    title = column.title if column.title.endswith(number) else f"{column.title}{number}"
    cells = [row.cells[k] for row in board.rows]
    n = count_range([cell.n for cell in cells if cell])
    return (title, n, *map(_rate_cell, cells), percent_cell(column.chance))


def _rate_cell(cell: Cell | None) -> Estimate | None:
    if cell is None:
        return None
    return rate_cell(cell.rate, *((cell.low, cell.high) if cell.spread is None else ()))


def _mean_cell(mean: Mean | None) -> Estimate | None:
    return None if mean is None else rate_cell(*mean_and_interval(mean))


def _deviation(spread: Spread | None) -> str | None:
    return None if spread is None or spread.deviation is None else percent_cell(spread.deviation)


def _policies(row: Row, board: Board) -> str:
    """List cells of the row with a non-default policy: "npi: bos=never"."""
    cells = zip(board.columns, row.cells, strict=True)
    return "; ".join(f"{column.key}: {cell.policy}" for column, cell in cells if cell and cell.policy)


def missing_column(row: Row) -> str:
    """List every suite without a rate, with the reason, for wide files: "a, b (not run)"."""
    has_several = len(row.models) > 1
    gaps_by_model = by_model(row.gaps, most=len(row.gaps))
    return "; ".join(f"{label}: {words}" if has_several else words for label, words in gaps_by_model.items())


def members(row: Row) -> str:
    """Return the slugs of the models that a row groups."""
    return " ".join(model.slug for model in row.models)


def mean_and_interval(mean: Mean | None) -> tuple[float | None, float | None, float | None]:
    """Return a mean and the limits of its interval; None for the limits of grouped seeds."""
    if mean is None:
        return None, None, None
    return (mean.rate, mean.low, mean.high) if mean.spread is None else (mean.rate, None, None)


def seeds(spread: Spread | None) -> tuple[int | None, float | None]:
    return (spread.n, spread.deviation) if spread else (None, None)


def long_rows(board: Board) -> list[tuple[Any, ...]]:
    """Return one row per model and suite with a result, see LONG_HEADER. Without a rate under the rule, `missing` gives
    the reason and the numbers are empty."""
    return [*_rated(board), *_unrated(board)]


def _rated(board: Board) -> list[tuple[Any, ...]]:
    rate, how = attrgetter(*_RATE), attrgetter(*_HOW)
    return [
        (members(row), *_place(board, row, column), *rate(cell), board.family, *how(cell), "")
        for row in board.rows
        for column, board_cell in zip(board.columns, row.cells, strict=True)
        if board_cell is not None and (cell := _exported(row, board_cell))
    ]


def _unrated(board: Board) -> list[tuple[Any, ...]]:
    columns = {column.key: column for column in board.columns}
    return [
        (
            gap.model,
            *_place(board, row, columns[gap.suite]),
            gap.run,
            _source(gap),
            *[None] * (len(LONG_HEADER) - 11),
            gap.why,
        )
        for row in board.rows
        for gap in row.gaps
        if gap.run
    ]


def _place(board: Board, row: Row, column: Column) -> tuple[Any, ...]:
    return (
        row.name,
        column.suite.slug,
        column.revision.number,
        column.revision.sha256,
        " ".join(column.tags),
        column.weight,
        board.options.rule.key,
    )


_CELL_NAMES = (*RULE_COUNTS, *COVERAGE, "run", "whitespace")
_cell_values = attrgetter(*_CELL_NAMES)
_chance_test = attrgetter(*CHANCE_TEST)


def _exported(row: Row, cell: Cell) -> BoardCell:
    """Return the cell as exported: a group of seeds has neither run nor interval."""
    values = dict(zip(_CELL_NAMES, _cell_values(cell), strict=True))
    if cell.spread is not None:
        values |= {"run": None, "low": None, "high": None}
    return BoardCell(
        **values,
        **dict(zip(CHANCE_TEST, _chance_test(cell.verdict), strict=True)),
        source=_source(cell),
        policy=cell.policy_text,
        score_kind=score_kind(row, cell),
        **_seeds(cell.spread),
    )


def _source(entry: Cell | MissingRate) -> str:
    return "uploaded" if entry.uploaded else "computed"


def score_kind(row: Row, cell: Cell) -> str:
    """Return the kind of the model's values; empty for uploads."""
    return "" if cell.uploaded else "pseudo-log-likelihood" if row.is_masked else "surprisal"


def as_json(board: Board, address: str) -> dict[str, Any]:
    """Return everything on the page as JSON; rates are 0..1, missing values null."""
    return {
        "address": address,
        **head_json(board),
        "models": [row_json(board, row) for row in board.rows],
    }


def head_json(board: Board) -> dict[str, Any]:
    """Return the JSON common to all rows: rule, note, family of tests, and suites with their weights."""
    return {
        "rule": rule_json(board.options.rule),
        "note": note(board),
        "family": board.family,
        "suites": [record(_suite(column)) for column in board.columns],
    }


def _suite(column: Column) -> BoardSuite:
    return BoardSuite(
        key=column.key,
        slug=column.suite.slug,
        title=column.suite.title,
        revision=column.revision.number,
        sha256=column.revision.sha256,
        tags=list(column.tags),
        weight=column.weight,
        chance=column.chance,
    )


def row_json(board: Board, row: Row) -> dict[str, Any]:
    """Return the JSON of one row: a model, or grouped seeds."""
    return {
        "model": [model.slug for model in row.models],
        "name": row.name,
        "rank": row.rank,
        "parameters": row.model.parameters,
        "perplexity": row.model.perplexity,
        "score": _mean_json(row.score),
        "tags": {tag: _mean_json(mean) for tag, mean in zip(board.tags, row.tags, strict=True)},
        "suites": {
            column.key: record(_exported(row, cell)) if cell else None
            for column, cell in zip(board.columns, row.cells, strict=True)
        },
        "missing": [gap.as_json() for gap in row.gaps],
    }


def _mean_json(mean: Mean | None) -> dict[str, Any] | None:
    if mean is None:
        return None
    _, low, high = mean_and_interval(mean)
    exported = BoardMean(
        rate=mean.rate,
        low=low,
        high=high,
        suites_run=mean.suites_run,
        suites=mean.suites,
        shared_items_factor=mean.shared_items_factor,
        **_seeds(mean.spread),
    )
    return record(exported)


def _seeds(spread: Spread | None) -> dict[str, Any]:
    """Return the fields of `Seeds`."""
    return {
        "seeds": spread.n if spread else None,
        "sd_between_seeds": spread.deviation if spread else None,
        "range_of_seeds": [spread.least, spread.greatest] if spread else None,
    }
