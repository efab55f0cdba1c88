"""A leaderboard of plain values: ranks, order and files without a database."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lmgym.runs.leaderboard.board import Board, Cell, Column, Row
from lmgym.runs.leaderboard.export import LONG_HEADER, for_paper, long_rows, wide
from lmgym.runs.leaderboard.means import Material, mean_over
from lmgym.runs.leaderboard.options import Options
from lmgym.runs.leaderboard.order import in_order, ranked
from lmgym.runs.leaderboard.seeds import grouped
from lmgym.text.paper_tables import Estimate


@dataclass(frozen=True)
class Suite:
    slug: str
    title: str


@dataclass(frozen=True)
class Revision:
    pk: int
    number: int
    sha256: str
    suite: Suite


@dataclass(frozen=True)
class Model:
    slug: str
    parameters: int | None = None
    perplexity: float | None = None
    is_masked: bool = False


COLUMNS = tuple(
    Column(Revision(k, 1, f"sha-{k}", Suite(slug, slug.title())), slug, (), 1.0, 0.5)
    for k, slug in enumerate(("agreement", "npi"), start=1)
)


def cell(passed: int, n: int = 10) -> Cell:
    return Cell(
        n=n,
        passed=passed,
        judged=n,
        rate=passed / n,
        low=0.1,
        high=0.9,
        chance=0.5,
        p=0.4,
        ties=0,
        too_close=0,
        not_evaluable=0,
        run="r",
        uploaded=False,
    )


def row(slug: str, *passed: int | None) -> Row:
    cells = tuple(None if one is None else cell(one) for one in passed)
    pairs = list(zip(COLUMNS, cells, strict=True))
    return Row(slug, (Model(slug),), cells, mean_over(pairs, Material({}, None)), (), label=slug)


ROWS = [row("low", 2, 4), row("high", 9, 9), row("half", 10, None)]


def test_a_model_that_lacks_a_suite_has_no_rank_and_stands_below() -> None:
    rows = in_order(ranked(ROWS, COLUMNS, whole=False), COLUMNS, (), "-sg")
    assert [(one.name, one.rank) for one in rows] == [("high", 1), ("low", 2), ("half", None)]


def test_files_have_a_row_for_each_result_and_a_column_for_each_suite() -> None:
    board = Board(Options(), COLUMNS, (), tuple(ROWS))
    assert [one[LONG_HEADER.index("suite")] for one in long_rows(board)] == ["agreement", "npi"] * 2 + [
        "agreement"
    ]
    header, rows = wide(board)
    assert header[-2:] == ("agreement", "npi")
    assert [one[-2:] for one in rows] == [(0.2, 0.4), (0.9, 0.9), (1.0, None)]


def test_the_table_for_a_paper_has_titles_percentages_and_the_layout_of_the_board() -> None:
    board = Board(Options(layout="suites"), COLUMNS, (), tuple(ROWS))
    table = for_paper(board, "Date: 2026-11-29.")
    assert table.columns == ("Suite", "n", "low", "high", "half", "Chance")
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(rows) == ["Rank", "SG score", "Agreement r1", "Npi r1"]
    assert rows["Npi r1"] == (
        "10",
        Estimate("40.0", "10.0", "90.0"),
        Estimate("90.0", "10.0", "90.0"),
        None,
        "50.0",
    )
    assert table.notes.endswith("Date: 2026-11-29.")
    assert "npi" not in table.notes
    turned = for_paper(Board(Options(layout="models"), COLUMNS, (), tuple(ROWS)))
    assert turned.columns == ("Model", "Rank", "SG score", "Agreement r1", "Npi r1")
    assert [row[0] for row in turned.rows] == ["n", "low", "high", "half", "Chance"]


def test_seeds_of_one_model_become_a_row_with_their_range_and_no_interval() -> None:
    [merged] = grouped(ROWS[:2], lambda model: ("alice", "GPT"))
    assert merged.name == "GPT"
    assert merged.score is not None
    assert merged.score.spread is not None
    assert (merged.score.spread.least, merged.score.spread.greatest) == (0.30000000000000004, 0.9)
    board = Board(replace(Options(), group=True), COLUMNS, (), (merged,))
    place = LONG_HEADER.index("low")
    assert [one[place : place + 2] for one in long_rows(board)] == [(None, None)] * 2
