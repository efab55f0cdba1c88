"""Render the cells of a leaderboard without the template language, which is too slow for thousands of cells."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.urls import reverse

from lmgym.charts.colour_steps import rate_step
from lmgym.charts.svg import Markup, element
from lmgym.runs.leaderboard.board import Board, Cell, Column, Mean, Row
from lmgym.runs.missing_rates import MissingRate, by_model
from lmgym.text.number_format import format_interval, format_named_p, percent, whole_percent

DENSE = 400
"""In tables with more cells than this, a cell shows only its rate; interval and counts are in the line below
the table."""

PAGE_CELLS = 5000
"""Maximum number of cells per page, unless LEAST_COLUMNS suites need more; further suites are on the next
page."""
LEAST_COLUMNS = 10


def columns_page(board: Board, number: str | None) -> Page[Column]:
    per_page = max(LEAST_COLUMNS, PAGE_CELLS // max(1, len(board.rows)))
    return Paginator(board.columns, per_page).get_page(number)


@dataclass(frozen=True)
class BoardTable:
    """Rendered cells of a leaderboard. With models in rows, `rows` has (row, all of its cells). With suites
    in rows, `summary` has (name, cells) for rank, score and tags, and `suites` has (column, cells), with one
    cell per row of the board."""

    summary: list[tuple[str, Markup]]
    suites: list[tuple[Column, Markup]]
    rows: list[tuple[Row, Markup]]


def board_table(board: Board, columns: Page[Column]) -> BoardTable:
    """Render this page of suites in the layout of the board."""
    dense = board.n_cells > DENSE
    link = reverse("run-detail", args=["KEY"])
    cells = [_cells(row, columns, link, board, dense=dense) for row in board.rows]
    if not board.has_suites_in_rows:
        joined = (Markup("".join(row_cells)) for row_cells in cells)
        return BoardTable([], [], list(zip(board.rows, joined, strict=True)))
    transposed = [Markup("".join(column_cells)) for column_cells in zip(*cells, strict=True)]
    names = ["Rank", "SG score", *board.tags]
    return BoardTable(
        list(zip(names, transposed, strict=False)),
        list(zip(columns, transposed[len(names) :], strict=True)),
        [],
    )


def _cells(row: Row, columns: Page[Column], link: str, board: Board, *, dense: bool) -> list[Markup]:
    missing = missing_words(row)
    cells = [
        _rank_cell(row, board),
        _mean_cell(row.score, strong=True, missing=missing),
        *(_mean_cell(mean, strong=False) for mean in row.tags),
    ]
    gaps = {gap.suite: gap for gap in row.gaps if gap.run}
    first = max(0, columns.start_index() - 1)
    for column, cell in zip(columns, row.cells[first : columns.end_index()], strict=True):
        cells.append(
            _missing(gaps.get(column.key), link) if cell is None else _cell(cell, row, link, dense=dense)
        )
    return cells


def _rank_cell(row: Row, board: Board) -> Markup:
    if row.rank is None:
        words = f"not ranked: {_suites(row.score)}" if row.score else "not ranked: no suite run"
        return element("td", {"class": "num hm-rank", "data-copy": "", "data-words": words}, "–")
    words = f"rank {row.rank} of {len(board.ranked)}"
    return element(
        "td", {"class": "num hm-rank", "data-value": str(row.rank), "data-words": words}, str(row.rank)
    )


def missing_words(row: Row) -> str:
    """Name the suites missing from the row's score, with reasons."""
    words_by_model = by_model(row.gaps)
    if len(row.models) == 1:
        return "".join(words_by_model.values())
    return "; ".join(f"{label}: {words}" for label, words in words_by_model.items())


def _mean_cell(mean: Mean | None, *, strong: bool, missing: str = "") -> Markup:
    kind = "hm-score" if strong else "hm-tag"
    if mean is None:
        return element(
            "td", {"class": f"num {kind}", "data-copy": "", "data-words": missing or "no suite run"}, "–"
        )
    how = _over(mean)
    words = (
        f"mean {percent(mean.rate)}, {how} {format_interval(mean.low, mean.high, percent)}, {_suites(mean)}"
    )
    words += f"; missing: {missing}" if missing else ""
    title: dict[str, object] = {"title": f"Missing: {missing}"} if missing else {}
    note = [] if mean.is_complete else [element("small", title, f"{mean.suites_run} of {mean.suites}")]
    limits = (
        format_interval(mean.low, mean.high, whole_percent)
        if mean.spread is None
        else _plus_minus(mean.spread.deviation)
    )
    attributes: dict[str, object] = {
        "class": f"num {kind}" if strong else f"num {kind} {rate_step(mean.rate)}",
        "data-value": f"{mean.rate:.4f}",
        "data-words": words,
    }
    small = [element("small", None, limits)] if strong else []
    return element("td", attributes, element("b", None, percent(mean.rate)), *small, *note)


def _over(mean: Mean) -> str:
    return "95% interval" if mean.spread is None else f"{mean.spread.n} seeds from"


def _suites(mean: Mean) -> str:
    if not mean.is_complete:
        return f"over {mean.suites_run} of {mean.suites} suites"
    return "over 1 suite" if mean.suites_run == 1 else f"over {mean.suites_run} suites"


def _cell(cell: Cell, row: Row, link: str, *, dense: bool) -> Markup:
    against = cell.verdict.against_chance
    modifier = f" cell-{against}" if against not in ("", "above") else ""
    arrow = [element("span", {"class": "up", "aria-hidden": "true"}, "↑")] if cell.uploaded else []
    star = [element("span", {"class": "up", "aria-hidden": "true"}, "*")] if cell.policy else []
    parts = [element("b", None, whole_percent(cell.rate), *arrow, *star)]
    if not dense:
        small = (
            format_interval(cell.low, cell.high, whole_percent)
            if cell.spread is None
            else _plus_minus(cell.spread.deviation)
        )
        parts.append(element("small", None, small))
    inside = (
        element("span", {"class": f"cell{modifier}"}, *parts)
        if len(row.models) > 1
        else element("a", {"class": f"cell{modifier}", "href": link.replace("KEY", cell.run)}, *parts)
    )
    attributes: dict[str, object] = {
        "class": rate_step(cell.rate),
        "data-value": f"{cell.rate:.4f}",
        "data-words": words_of(cell),
    }
    return element("td", attributes, inside)


def words_of(cell: Cell) -> str:
    """Describe a cell for the line below the table and for screen readers."""
    if cell.spread is not None:
        deviation = (
            "" if cell.spread.deviation is None else f", standard deviation {percent(cell.spread.deviation)}"
        )
        return f"{percent(cell.rate)}, mean of {cell.spread.n} seeds{deviation}{_policy(cell)}"
    words = [
        percent(cell.rate),
        f"{cell.passed} of {cell.judged} held",
        f"95% interval {format_interval(cell.low, cell.high, percent)}",
    ]
    if cell.chance is not None:
        words.append(f"chance {percent(cell.chance)}")
    if cell.verdict.words:
        p = "" if cell.verdict.decisive_p is None else f" ({format_named_p('p', cell.verdict.decisive_p)})"
        words.append(cell.verdict.words + p)
    counts = (
        (cell.ties, "ties"),
        (cell.too_close, "too close to call"),
        (cell.not_evaluable, "not evaluable"),
    )
    words += [f"{count} {name}" for count, name in counts if count]
    if cell.coverage_words:
        words.append(cell.coverage_words)
    if cell.uploaded:
        words.append("uploaded")
    return ", ".join(words) + _policy(cell)


def _policy(cell: Cell) -> str:
    return f", not the default policy: {cell.policy}" if cell.policy else ""


def _missing(gap: MissingRate | None, link: str) -> Markup:
    """Render a missing rate. `gap`: the missing rate of a run; None if not run."""
    if gap is not None and gap.run is not None:
        words = f"no pass rate under this rule: {gap.why}"
        dash = element(
            "a", {"class": "cell cell-empty", "href": link.replace("KEY", gap.run), "title": words}, "–"
        )
        return element("td", {"data-copy": "", "data-words": words}, dash)
    dot = element("span", {"class": "cell cell-empty"}, element("span", {"aria-hidden": "true"}, "·"))
    return element("td", {"data-copy": "", "data-words": "not run"}, dot)


def _plus_minus(deviation: float | None) -> str:
    return "one seed" if deviation is None else f"± {100 * deviation:.0f}"
