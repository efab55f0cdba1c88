"""Tables for papers: what LaTeX, Markdown and spreadsheets read."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest

from lmgym.text.paper_tables import LONG, Estimate, PaperTable, transposed

NASTY = r"a%b & _c #d $e {f} ~g ^h \i"
TABLE = PaperTable(
    "Pass rate, in percent",
    ("Prediction", "n", "GPT-2", NASTY),
    (
        (NASTY, "24", Estimate("8.3", "2.3", "25.8"), Estimate("100.0", "86.2", "100.0")),
        ("[second]", "20–24", None, Estimate("−1.25")),
    ),
    "Brackets: 95% intervals.",
    label="rates",
)


def rows_of(tex: str) -> list[str]:
    return [line.strip() for line in tex.splitlines() if line.endswith(r"\\")]


def cells_of(row: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)&", row.removesuffix(r"\\"))]


def assert_balanced(tex: str) -> None:
    depth = 0
    for character in re.sub(r"\\[\\{}%&_#$]", "", tex):
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0


def test_every_row_has_a_cell_for_every_column_and_braces_are_balanced() -> None:
    tex = TABLE.latex()
    assert_balanced(tex)
    rows = rows_of(tex)
    assert len(rows) == 4  # the heading, a row with its intervals, a row without
    assert {len(cells_of(row)) for row in rows} == {4}


def test_special_characters_are_escaped() -> None:
    escaped = r"a\%b \& \_c \#d \$e \{f\} \textasciitilde{}g \textasciicircum{}h \textbackslash{}i"
    tex = TABLE.latex()
    assert tex.count(escaped) == 2
    assert r"95\% intervals" in tex
    assert "    {[}second] &" in tex  # not the optional argument of the \\ before it


def test_numbers_are_aligned_and_anything_else_is_in_braces() -> None:
    tex = TABLE.latex()
    assert r"\begin{tabular}{lS[table-format=2.0]S[table-format=1.1]S[table-format=-3.2]}" in tex
    _, first, intervals, second = (cells_of(row) for row in rows_of(tex))
    assert first[1:] == ["24", "8.3", "100.0"]
    assert intervals == ["", "", r"{\scriptsize [2.3, 25.8]}", r"{\scriptsize [86.2, 100.0]}"]
    assert second[1:] == ["{20--24}", "{--}", "-1.25"]


def test_markdown_has_intervals_in_the_cell() -> None:
    lines = TABLE.markdown().splitlines()
    assert lines[0] == "**Pass rate, in percent.**"
    assert re.search(r"\| +24 \| +8\.3 \[2\.3, 25\.8\] \| +100\.0 \[86\.2, 100\.0\] \|$", lines[4])
    assert lines[-1] == "Brackets: 95% intervals."


def test_csv_has_columns_for_the_interval_and_the_caption_last() -> None:
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    assert rows[0][:5] == ["Prediction", "n", "GPT-2", "GPT-2, 95% low", "GPT-2, 95% high"]
    assert rows[1][1:] == ["24", "8.3", "2.3", "25.8", "100.0", "86.2", "100.0"]
    assert rows[2][1:] == ["20–24", "", "", "", "-1.25", "", ""]
    assert rows[3][0] == "Pass rate, in percent. Brackets: 95% intervals."


def test_a_name_that_a_spreadsheet_would_execute_is_guarded() -> None:
    table = PaperTable("t", ("=cmd()", "n"), (("+1", "2"),))
    assert table.csv().splitlines()[:2] == ["'=cmd(),n", "'+1,2"]


def test_rows_and_columns_can_be_exchanged() -> None:
    turned = transposed(TABLE, "Model")
    assert turned.columns == ("Model", NASTY, "[second]")
    assert turned.rows[1] == ("GPT-2", Estimate("8.3", "2.3", "25.8"), None)
    assert transposed(replace(TABLE, rows=()), "Model").rows == (("n",), ("GPT-2",), (NASTY,))


def test_wide_and_long_tables_fit_a_page() -> None:
    columns = ("Suite", *(f"model {k}" for k in range(9)))
    rows = tuple((f"s{k}", *["0.5"] * 9) for k in range(LONG + 1))
    wide = PaperTable("t", columns, rows[:3]).latex()
    assert r"\resizebox{\ifdim\width>\linewidth" in wide
    assert_balanced(wide)
    assert r"{\rotatebox{90}{model 0}}" in wide
    long = PaperTable("t", columns, rows).latex()
    assert long.count(r"\toprule") == 2  # on the first page and on the others
    assert long.index(r"\endhead") < long.index("s0 & 0.5")
    assert r"\begin{table}" not in long
    assert "resizebox" not in PaperTable("t", columns[:3], tuple(row[:3] for row in rows[:3])).latex()


def test_the_extension_decides_what_is_saved(tmp_path: Path) -> None:
    assert TABLE.save(tmp_path / "t.tex").read_text(encoding="utf-8") == TABLE.latex()
    with pytest.raises(ValueError, match=r"\.tex, \.md, \.csv"):
        TABLE.save(tmp_path / "t.docx")
