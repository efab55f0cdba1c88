"""Exported CSV tables run no formulas and are read back unchanged."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.text import unguard
from lmgym.text.csv_writer import csv_text, safe_cell

RISKY = tuple("=+-@\t\r\0＝＋－＠")
CELL = st.text(
    st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("'=+-@＝＋－＠\t\r\n,;\""), max_size=10
)


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("-ly", "'-ly"),
        ("@x", "'@x"),
        ("+", "'+"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("＝1", "'＝1"),
        ("'=1", "''=1"),
        ("'s", "'s"),
        ("a=b", "a=b"),
        ("", ""),
        (None, ""),
        (-1.5, -1.5),
        (0, 0),
        (True, True),
    ],
)
def test_text_that_a_spreadsheet_would_run_is_disarmed_and_numbers_stay_numbers(cell, written):
    assert safe_cell(cell) == written


@given(st.lists(st.lists(CELL, min_size=2, max_size=2), max_size=5))
def test_no_cell_of_a_download_is_risky_and_rows_come_back(rows):
    text = csv_text(("a", "b"), rows)
    read = list(csv.reader(io.StringIO(text, newline="")))[1:]
    assert [[unguard(cell) for cell in row] for row in read] == rows
    for cell in (cell for row in read for cell in row):
        assert not cell.startswith(RISKY)


def test_a_cell_that_a_spreadsheet_would_run_is_guarded_however_often_it_comes():
    cells = ["=1+1", "=1+1", "=" + "x" * 200, "plain"]
    lines = csv_text(["a"], [[cell] for cell in cells]).split("\r\n")
    assert lines[1:5] == ["'=1+1", "'=1+1", "'=" + "x" * 200, "plain"]
