"""Pasted sheets: reading, and errors by row and column."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.files.workbooks import write_xlsx
from lmgym.suites.formats import write_long_csv, write_wide_tsv
from lmgym.suites.intake import parse_upload
from lmgym.suites.intake.parsing import column_letter
from lmgym.suites.intake.sheets import read_sheet
from tests.lmgym.suites.edits import start

HEAD = "item\tcondition\tSubject\tVerb\n"


def test_a_wide_sheet_is_understood():
    reading = read_sheet(HEAD + "1\ta\tThe cat\tsleeps\n1\tb\tThe cat\tsleep\n", "cats")
    assert reading.kind == "wide"
    assert reading.problems == []
    assert reading.document.name == "cats"
    assert reading.document.region_names == ("Subject", "Verb")
    assert [(c.letter, c.header, c.meaning) for c in reading.columns] == [
        ("A", "item", "item number"),
        ("B", "condition", "condition"),
        ("C", "Subject", "region 1"),
        ("D", "Verb", "region 2"),
    ]
    assert "1 item × 2 conditions × 2 regions" in reading.understood[0]
    assert len(reading.sample) == 2


def test_a_long_sheet_is_understood():
    text = "Item Number\tCondition Name\tRegion Number\tRegion Name\tContent\n"
    text += "".join(f"1\t{c}\t{k}\t{n}\tw{k}\n" for c in "ab" for k, n in ((1, "S"), (2, "V")))
    reading = read_sheet(text)
    assert reading.kind == "long"
    assert reading.document.region_names == ("S", "V")
    assert reading.document.conditions == ("a", "b")


@pytest.mark.parametrize("separator", ["\t", ",", ";"])
def test_separators_are_told_apart(separator):
    text = (HEAD + "1\ta\tx\ty\n").replace("\t", separator)
    assert read_sheet(text).document.sentences[0].contents == ("x", "y")


def test_quoted_cells_may_hold_tabs_line_breaks_and_quotes():
    reading = read_sheet(HEAD + '1\ta\t"x\ny ""z"""\t"u\tv"\n')
    assert reading.document.sentences[0].contents == ('x y "z"', "u v")


def test_excel_s_line_ends_empty_rows_and_surplus_columns_do_no_harm():
    reading = read_sheet((HEAD + "1\ta\tx\ty\t\t\n\t\t\t\t\t\n2\ta\tx\ty\n").replace("\n", "\r\n"))
    assert reading.document.items == (1, 2)


@pytest.mark.parametrize(
    "head", ["Item\tCond\tV", "items\tCONDITION NAME\tV", "no.\ttype\tV", "frame\tvariant\tV"]
)
def test_headers_go_by_several_names(head):
    assert read_sheet(head + "\n1\ta\tx\n").document.region_names == ("V",)


def test_a_region_may_be_called_number_or_type():
    assert read_sheet("item\tcondition\tNumber\tType\n1\ta\tx\ty\n").document.region_names == (
        "Number",
        "Type",
    )


def test_a_cell_of_a_no_break_space_is_text():
    reading = read_sheet("item\tcondition\tNP\tMark\n1\ta\tOui\t\u00a0\n1\tb\tOui\t\u00a0!\n")
    assert [row.contents for row in reading.document.sentences] == [("Oui", "\u00a0"), ("Oui", "\u00a0!")]


def test_merged_cells_are_filled_and_said():
    reading = read_sheet(HEAD + "1\ta\tx\ty\n\tb\tx\tz\n2\ta\tu\tv\n\tb\tu\tw\n")
    assert reading.document.items == (1, 2)
    assert any("merged cells" in line and "rows 3, 5" in line for line in reading.understood)


def test_a_column_under_a_merged_heading_is_a_region_and_said():
    head, row = ["item", "condition", "Subject", "", "Verb"], [1, "a", "The", "owl", "hoots"]
    reading = parse_upload(write_xlsx([("Owls", [head, row])]).read(), "owls.xlsx")
    assert reading.document.sentences[0].contents == ("The", "owl", "hoots")
    assert sum("Column D has no heading" in line for line in reading.understood) == 1
    named = parse_upload(write_xlsx([("Owls", [[*head[:3], "Noun", "Verb"], row])]).read(), "owls.xlsx")
    assert not any("no heading" in line for line in named.understood)


def test_merged_items_and_conditions_of_a_long_sheet_are_filled():
    item = "{}\ta\t1\tx\n\t\t2\ty\n\tb\t1\tu\n\t\t2\tv\n"
    text = "item\tcondition\tregion_number\tcontent\n" + item.format(1) + item.format(2)
    reading = read_sheet(text)
    assert reading.problems == []
    assert [s.contents for s in reading.document.sentences] == [("x", "y"), ("u", "v")] * 2


def test_numbers_that_a_sheet_wrote_with_decimals_are_item_numbers():
    assert read_sheet(HEAD + "1.0\ta\tx\ty\n").document.items == (1,)


BAD = [
    ("", "sheet", "the sheet is empty"),
    (HEAD, "sheet", "a header but no rows"),
    ("a\tb\n1\t2\n", "row 1", "no item-number column found"),
    ("item\tVerb\n1\tx\n", "row 1", "no condition column found"),
    ("item\tcondition\n1\ta\n", "row 1", "no region columns"),
    (HEAD + "1\ta\n", "row 2, column C (Subject)", "ends before this column"),
    (HEAD + "1\ta\tx\ty\tz\n", "row 2, column E", "no header"),
    ("item\tcondition\tV\tV\n1\ta\tx\ty\n", "row 1, column D (V)", "already the name of column C"),
    (
        "item\tItem\tcondition\tV\n1\t1\ta\tx\n",
        "row 1, column B (Item)",
        "already has the role “item number”",
    ),
    (HEAD + "\ta\tx\ty\n", "row 2, column A (item)", "empty"),
    (HEAD + "1\ta\tx\ty\n1\t\tx\ty\n", "row 3, column B (condition)", "empty"),
    (HEAD + "1\ta\tx\ty\n1\tb\tx\ty\n2\ta\tx\ty\n", "row 4", "item 2 lacks a condition that item 1 has: “b”"),
    (HEAD + "1\ta\tx\ty\n1\ta\tx\ty\n", "row 3", "twice, first at row 2"),
    (HEAD + "1\ta%\tx\ty\n", "row 2", "% sign"),
    (HEAD + "1\ta\tx\x00\ty\n", "row 2", "U+0000"),
    (HEAD + "1\ta\t" + "x" * 10_001 + "\ty\n", "row 2, column C (Subject)", "10,001 characters"),
    (HEAD + "".join(f"{k}\ta\tx\ty\n" for k in range(20_001)), "sheet", "20,001 sentences"),
    (
        "item\tcondition\t" + "\t".join(f"r{k}" for k in range(201)) + "\n1\ta" + "\tx" * 201 + "\n",
        "row 1",
        "201 regions",
    ),
    ("item\tcondition\tregion_number\tcontent\n1\ta\tone\tx\n", "row 2, column C (region_number)", "“one”"),
    ("item\tcondition\tregion_number\tcontent\n1\ta\t1\tx\n1\ta\t1\ty\n", "row 3", "occurs twice"),
    ("x" * 5_000_001, "sheet", "5,000,001 bytes"),
    ('{"meta": 1}', "$.meta", "object"),
]


@pytest.mark.parametrize(("text", "where", "says"), BAD, ids=[says[:30] for _, _, says in BAD])
def test_a_bad_sheet_says_row_and_column(text, where, says):
    reading = read_sheet(text)
    assert reading.document is None
    told = [(problem.where, problem.message) for problem in reading.problems]
    assert any(place == where and says in message for place, message in told), told[:5]


def test_twenty_thousand_rows_are_read():
    reading = read_sheet(HEAD + "".join(f"{k // 4}\t{'abcd'[k % 4]}\tx\ty\n" for k in range(20_000)))
    assert reading.problems == []
    assert len(reading.document.sentences) == 20_000


def test_problems_of_very_many_rows_stay_readable():
    reading = read_sheet(HEAD + "".join(f"{k}\t\tx\ty\n" for k in range(500)))
    assert 2 <= len(reading.problems) <= 51


@pytest.mark.parametrize("write", [write_wide_tsv, write_long_csv])
def test_what_we_write_can_be_pasted_back(write):
    doc = start()
    reading = read_sheet(write(doc))
    assert reading.document.sentences == tuple(
        type(s)(s.item, s.condition, s.contents, s.raw, {"data": {"note": "kept"}} if s.item == 1 else {})
        for s in doc.sentences
    )


@given(st.text(alphabet=st.sampled_from('abc1\t\n,;"\r{[= item condition'), max_size=200))
def test_no_text_is_too_odd_to_answer(text):
    reading = read_sheet(text)
    assert (reading.document is None) == bool(reading.problems)


@pytest.mark.parametrize(("index", "letter"), [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA")])
def test_columns_have_the_names_of_spreadsheets(index, letter):
    assert column_letter(index) == letter
