"""Cells of heat maps and token strips have their texts centred, and interval charts explain dashed lines."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from lmgym.charts.heatmap import heat_chart
from lmgym.charts.intervals import RowMark, interval_rows
from lmgym.charts.token_strip import StripRow, StripToken, token_strip

SVG = "{http://www.w3.org/2000/svg}"
HEAT = heat_chart(["m"], ["a", "b", "c"], [[0.0, 0.5, 1.0]], "Models on suites")
TOKENS = [StripToken("the", 1.25), StripToken("cats", 9.5), StripToken("sleep", 3.0)]
STRIP = token_strip([StripRow("match", [[], TOKENS, []])], [("", False), ("Subject", True), ("", False)], "t")


def cells(svg: str) -> list[ET.Element]:
    return ET.fromstring(svg).findall(f".//{SVG}g")


def words(cell: ET.Element) -> list[str]:
    return [text.text or "" for text in cell.findall(f"{SVG}text")]


def test_a_cell_of_a_heat_map_is_its_rate_in_percent():
    assert [words(cell) for cell in cells(HEAT)] == [["0"], ["50"], ["100"]]


def test_a_box_of_a_strip_is_a_token_and_its_bits():
    assert [words(cell) for cell in cells(STRIP)] == [["the", "1.25"], ["cats", "9.50"], ["sleep", "3.00"]]


def test_a_chart_in_which_only_some_rows_have_a_chance_level_says_what_the_dashes_are():
    rows = [RowMark("with", 0.5, 0.4, 0.6, reference=0.25), RowMark("without", 0.5, 0.4, 0.6)]
    assert "dashed: chance" in interval_rows(rows, "t")
    assert "dashed" not in interval_rows(rows[1:], "t")


@pytest.mark.parametrize("svg", [HEAT, STRIP])
def test_words_stand_in_the_middle_of_their_box(svg):
    for cell in cells(svg):
        box = cell.find(f"{SVG}rect")
        middle = float(box.get("x")) + float(box.get("width")) / 2
        for text in cell.findall(f"{SVG}text"):
            assert float(text.get("x")) == pytest.approx(middle, abs=1.0)
            assert float(box.get("y")) < float(text.get("y")) < float(box.get("y")) + float(box.get("height"))
