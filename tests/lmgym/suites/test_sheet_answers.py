"""Questions about an ambiguous sheet, and how answers are parsed. No database."""

from __future__ import annotations

import pytest

from lmgym.suites.intake import parse_upload
from lmgym.suites.intake.parsing import ROLE_GROUPS, ROLES, ParseOptions
from lmgym.suites.intake.sheets import read_sheet

LONG = "item,condition,region_name,content\n"


def test_a_long_sheet_without_region_numbers_is_numbered_by_names_and_says_so():
    text = LONG + "1,a,S,The cat\n1,a,V,sleeps\n1,b,V,sleep\n1,b,S,The cat\n"
    reading = parse_upload(text.encode(), "x.csv")
    doc = reading.document
    assert doc.region_names == ("S", "V")
    assert [row.contents for row in doc.sentences] == [("The cat", "sleeps"), ("The cat", "sleep")]
    assert any("No region numbers" in line for line in reading.understood)


def test_names_that_come_twice_in_a_sentence_are_numbered_by_their_rows():
    text = LONG + "1,a,NP,The cat\n1,a,V,sees\n1,a,NP,the dog\n"
    reading = read_sheet(text)
    assert reading.document.region_names == ("NP", "V", "NP")
    assert reading.document.sentences[0].contents == ("The cat", "sees", "the dog")


def test_content_alone_is_numbered_by_its_rows():
    reading = read_sheet("item,condition,text\n1,a,The cat\n1,a,sleeps\n1,b,The cat\n1,b,sleep\n")
    assert reading.document.sentences[1].contents == ("The cat", "sleep")


def test_columns_of_a_long_sheet_can_be_named_without_a_header():
    columns = {"A": "item", "B": "condition", "C": "name", "D": "content"}
    reading = read_sheet("1,a,S,x\n1,a,V,y\n", options=ParseOptions(header="no", columns=columns))
    assert reading.document.sentences[0].contents == ("x", "y")
    assert reading.document.region_names == ("S", "V")


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"A": "item", "B": "condition", "C": "content", "D": "content"}, "more than one column has"),
        ({"A": "item", "C": "text"}, "no condition column found"),
        ({"A": "item", "B": "condition"}, "no column contains text"),
        ({"A": "item", "B": "condition", "C": "content", "D": "text"}, "and another “region”"),
        ({"A": "item", "B": "condition", "C": "text", "Z": "text"}, ""),
    ],
)
def test_columns_that_make_no_suite_are_asked_again(columns, says):
    reading = read_sheet("p,q,r,s\n1,a,x,y\n", options=ParseOptions(columns=columns))
    if says:
        assert reading.document is None
        assert "columns" in reading.asks
        assert any(says in problem.message for problem in reading.problems)
    else:
        assert reading.document.region_names == ("r",)


def test_regions_that_are_left_out_of_a_long_sheet_leave_no_gap():
    text = "item,condition,region_number,region_name,content\n"
    text += "".join(f"1,{c},{k},{n},w\n" for c in "ab" for k, n in ((1, "S"), (2, "V"), (3, "O")))
    reading = read_sheet(text, options=ParseOptions(regions={"V": ""}))
    assert reading.document.region_names == ("S", "O")


def test_a_file_of_bytes_that_are_no_text_is_not_asked_about():
    reading = parse_upload(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "x.png")
    assert reading.asks == ()
    assert reading.problems


def test_an_encoding_that_the_bytes_do_not_fit_is_not_offered():
    data = "item,condition,V\n1,a,\x81\n".encode("latin-1")
    assert "windows-1252" not in parse_upload(data, "x.csv").encodings


def test_the_menu_of_a_column_offers_every_role_once():
    assert sorted(role for group in ROLE_GROUPS.values() for role in group) == sorted(ROLES)


def test_merged_cells_of_the_item_are_not_one_row_per_item():
    sheet = "Nr.\tFassung\tSubjekt\tVerb\n1\tmatch\tDie Frau\tspielt\n\tplural\tDie Frauen\tspielen\n"
    columns = read_sheet(sheet, "merged").columns
    assert [column.role for column in columns] == ["item", "condition", "text", "text"]
