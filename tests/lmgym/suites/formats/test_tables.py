"""Long and wide tables: reading, errors with their lines, and guarded cells."""

from __future__ import annotations

import csv
import io

import pytest

from lmgym.suites.formats import read_long_csv, read_suite, read_wide_table, write_long_csv, write_wide_tsv
from lmgym.suites.intake import parse_upload
from lmgym.text import guard, unguard

from .samples import GOLDEN, golden, notices, problems, read, suite

HEADER = "item_number,condition_name,region_number,region_name,content\n"
ROWS = "1,a,1,Start,The cat\n1,a,2,End,sleeps\n1,b,1,Start,The cat\n1,b,2,End,sleep\n"


def long(rows: str, header: str = HEADER) -> bytes:
    return (header + rows).encode()


@pytest.mark.parametrize("name", ["long.csv", "long_excel.csv", "wide.tsv"])
def test_the_same_suite_in_three_tables(name):
    doc = golden(name)
    assert doc.region_names == ("Start", "Adverb", "Ending", "Rest")
    assert doc.conditions == ("whole", "split")
    assert [s.contents for s in doc.sentences] == [
        ("Mia walked", "quick", "-ly", "home"),
        ("Mia walked", "quick", "", "home"),
        ("He said", "that", '"no"', ", again"),
        ("He said", "that", "=5", "’tis"),
    ]
    assert doc.name == name.partition(".")[0]
    assert doc.predictions == ()
    assert "a table has no predictions and no metric" in notices(doc)


def test_a_table_without_a_file_name_is_untitled():
    doc = read_long_csv(long(ROWS))
    assert doc.name == "Untitled suite"
    assert "a table has no name" in notices(doc)
    assert read_long_csv(long(ROWS), "mine").name == "mine"
    assert read_suite(long(ROWS), "C:\\files\\my suite.csv").name == "my suite"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("prefix", ["", "\ufeff", "sep=?\n", "\n\n"])
def test_separators_line_ends_and_what_excel_puts_first(delimiter, end, prefix):
    text = (HEADER + ROWS).replace(",", delimiter).replace("\n", end)
    doc = read_suite((prefix.replace("?", delimiter) + text).encode())
    assert [s.text for s in doc.sentences] == ["The cat sleeps", "The cat sleep"]


def test_excel_unicode_text_is_utf_16_with_tabs():
    assert len(read_suite((HEADER + ROWS).replace(",", "\t").encode("utf-16")).sentences) == 2


@pytest.mark.parametrize(
    "header",
    [
        "ITEM NUMBER,Condition Name,Region Number,Region Name,CONTENT\n",
        " item-number , condition.name,region  number,region_name , content\n",
        '"item","condition","region_no","region_name","text"\n',
    ],
)
def test_headers_may_vary_in_case_and_blanks(header):
    assert len(read_suite(long(ROWS, header)).sentences) == 2


def test_columns_may_come_in_any_order_and_unknown_ones_are_kept():
    text = "content,note,region_number,item_number,condition_name\nThe cat,nice,1,1,a\nsleeps,,2,1,a\n"
    doc = read_suite(text.encode())
    assert doc.sentences[0].contents == ("The cat", "sleeps")
    assert doc.sentences[0].extra == {"regions": {"1": {"note": "nice"}}}
    assert doc.region_names == ("Region 1", "Region 2")
    assert "unknown column kept as extra data: note" in notices(doc)


def test_rows_may_be_sorted_by_condition_and_blank_rows_do_not_count():
    rows = "1,a,2,End,x\n\n1,a,1,Start,y\n2,a,1,Start,y\n2,a,2,End,z\n,,,,\n"
    rows += "1,b,1,Start,q\n1,b,2,End,q\n2,b,1,Start,r\n2,b,2,End,r\n"
    doc = read_suite(long(rows))
    assert [(s.item, s.condition, s.contents) for s in doc.sentences] == [
        (1, "a", ("y", "x")),
        (1, "b", ("q", "q")),
        (2, "a", ("y", "z")),
        (2, "b", ("r", "r")),
    ]
    assert "grouped by item" in notices(doc)


def test_quoted_cells_may_hold_separators_quotes_and_line_breaks():
    doc = read_suite(long('1,a,1,Start,"The ""cat"", he\nsaid"\n1,a,2,End,"x"\n'))
    assert doc.sentences[0].contents == ('The "cat", he said', "x")


LONG_REFUSALS = [
    ("1,a,1,Start\n", "line 2", "4 cells, but the header has 5"),
    (ROWS + "1,c,1,Start,x,y\n", "line 6", "6 cells, but the header has 5"),
    ("one,a,1,Start,x\n", "line 2", "the item number is “one”"),
    ("1.5,a,1,Start,x\n", "line 2", "the item number is “1.5”"),
    (",a,1,Start,x\n", "line 2", "the item number is empty"),
    ("-1,a,1,Start,x\n", "line 2", "the item number is “-1”"),
    ("１,a,1,Start,x\n", "line 2", "the item number is “１”"),
    ("1,a,0x1,Start,x\n", "line 2", "the region number is “0x1”"),
    ("1,a,999,Start,x\n", "line 2", "the region number is “999”"),
    ("1,,1,Start,x\n", "line 2", "the condition has no name"),
    ("1,a%,1,Start,x\n", "line 2", "contains a % sign"),
    (f"1,{'a' * 300},1,Start,x\n", "line 2", "the condition has 300 characters"),
    (f"1,a,1,{'a' * 300},x\n", "line 2", "the region name has 300 characters"),
    (f"1,a,1,Start,{'x' * 10_001}\n", "line 2", "10,001 characters"),
    (f"1,a,1,Start,{'x' * 200_000}\n", "line 2", "field larger than field limit"),
    (ROWS + "1,a,1,Start,x\n", "line 6", "region 1 occurs twice"),
    (ROWS + "1,a,2,Stop,x\n", "line 6", "called “Stop” here, but “End” in line 3"),
    (ROWS + "2,a,1,Start,x\n2,a,2,End,x\n", "line 6", "item 2 lacks a condition that item 1 has: “b”"),
    (ROWS + "2,a,1,Start,x\n2,b,1,Start,x\n2,b,2,End,x\n", "line 6", "lacks region 2 (End)"),
    ("1,a,1,Start,x\n1,a,3,End,y\n", "file", "must be consecutive from 1"),
    ('1,a,1,Start,"x\n', "line 2", "the row cannot be read"),
    ('1,a,1,Start,x\n1,a,2,End,"x"y\n', "line 3", "the row cannot be read"),
    ('1,a,1,Start,"x\ny"\n1,a,two,End,x\n', "line 4", "the region number is “two”"),
    ("1,a,1,Start,\x00\n", "line 2", "control character U+0000"),
    ("1,a,1,Start,\x1b[31m\n", "line 2", "control character U+001B"),
    ("", "file", "a header but no rows"),
]


@pytest.mark.parametrize(("rows", "where", "message"), LONG_REFUSALS)
def test_a_bad_row_is_refused_with_its_line(rows, where, message):
    found = problems(long(rows))
    assert any(p.where == where and message in p.message for p in found), "\n".join(map(str, found))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item_number,condition_name,region_name,content\n1,a,Start,x\n", "has no column region_number"),
        ("item_number,condition_name,region_number,region_name\n1,a,1,Start\n", "has no column content"),
        ("item_number,condition_name,content\n1,a,x\n", "has no column region_number"),
        (
            "number,sentence\n1,x\n",
            "needs a column for items and one for conditions, but has “number”, “sentence”",
        ),
        ("item,condition\n1,a\n", "the header has no region columns"),
        (f"item,condition,{'x' * 300}\n1,a,b\n", "the region name has 300 characters"),
        ("item,condition" + ",x" * 300 + "\n" + "1,a" + ",x" * 300, "has 300 regions; at most 200"),
    ],
)
def test_a_bad_header_is_refused(text, message):
    assert any(message in p.message for p in problems(text.encode())), problems(text.encode())


def test_bad_rows_are_named_all_at_once():
    assert [p.where for p in problems(long("x,a,1,Start,b\n1,a,y,Start,b\n1,,1,Start,b\n"))] == [
        "line 2",
        "line 3",
        "line 4",
    ]


def test_line_numbers_count_what_stood_before_the_header():
    assert problems(b"sep=,\n\n" + long("1,a,x,Start,b\n"))[0].where == "line 4"


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("item,condition,A,B\n1,a,x\n", "line 2", "3 cells, but the header has 4"),
        ("item,condition,A\n1,a,x\n1,a,y\n", "line 3", "“a” twice"),
        ("item,condition,A\n1,a,x\n2,b,y\n", "line 3", "lacks a condition that item 1 has: “a”"),
        ("item,condition,A\n1.0,a,x\n", "line 2", "the item number is “1.0”"),
    ],
)
def test_bad_wide_rows_are_refused(text, where, message):
    found = problems(text.encode())
    assert any(p.where == where and message in p.message for p in found), "\n".join(map(str, found))


def test_wide_tables_keep_equal_region_names_and_name_the_nameless():
    doc = read_wide_table(b"item,condition,verb,verb,,item\n1,a,x,y,z,w\n")
    assert doc.region_names == ("verb", "verb", "Region 3", "item")
    assert doc.sentences[0].contents == ("x", "y", "z", "w")


def test_empty_columns_at_the_end_of_a_sheet_do_not_count():
    doc = read_suite(b"item,condition,A,B,,\n1,a,x,,,\n")
    assert doc.region_names == ("A", "B")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-ly", "@x", "\tx", "\rx", "＝1", "'-ly", "''=x", "'＠"])
def test_cells_that_a_spreadsheet_would_run_are_guarded(text):
    assert guard(text) == f"'{text}"
    assert unguard(guard(text)) == text


@pytest.mark.parametrize("text", ["", "x", "'s", "'tis", "''", "n't", "1-2", "a=b", " -x", "’-x"])
def test_other_cells_are_left_alone(text):
    assert guard(text) == unguard(text) == text


@pytest.mark.parametrize("write", [write_long_csv, write_wide_tsv])
def test_no_written_cell_begins_like_a_formula(write):
    document = suite(region_meta={"1": "=A1", "2": "+", "3": "@"}, predictions=[])
    for item in document["items"]:
        for sentence in item["conditions"]:
            sentence["condition_name"] = f"-{sentence['condition_name']}"
            sentence["regions"][1]["content"] = "=cmd|'/c calc'!A1"
    doc = read(document)
    text = write(doc)
    cells = [
        cell
        for row in csv.reader(io.StringIO(text, newline=""), delimiter="," if "," in text[:12] else "\t")
        for cell in row
    ]
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t\r")]
    back = read_suite(text.encode())
    assert (back.sentences, back.region_names, back.conditions) == (
        doc.sentences,
        doc.region_names,
        doc.conditions,
    )


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.*")), ids=lambda path: path.name)
@pytest.mark.parametrize("write", [write_long_csv, write_wide_tsv])
def test_tables_lose_no_sentence_and_no_region(path, write):
    doc = golden(path.name)
    back = read_suite(write(doc).encode())
    assert back.region_names == doc.region_names
    assert [(s.item, s.condition, s.contents, s.raw) for s in back.sentences] == [
        (s.item, s.condition, s.contents, s.raw) for s in doc.sentences
    ]
    trimmed = read_suite(write(doc, whitespace="trimmed").encode())
    assert [s.contents for s in trimmed.sentences] == [s.contents for s in doc.sentences]
    assert all(s.raw is None for s in trimmed.sentences)


SWALLOWED = {
    "a stray mark": '1,a,"The boy,runs\n1,b,The boy,run\n2,a,The girl,runs\n2,b,"The girl,run\n',
    "marks rows apart": '1,a,The boy,runs\n1,b,"Go, he said,run\n2,a,The girl,runs\n2,b,The girl,"run\n',
}


@pytest.mark.parametrize("rows", SWALLOWED.values(), ids=SWALLOWED)
def test_a_quotation_mark_that_swallows_rows_is_refused_with_its_place(rows):
    result = parse_upload(("item,condition,NP,V\n" + rows).encode(), "suite.csv")
    assert result.document is None
    assert any("a quotation mark" in str(problem) for problem in result.problems)


def test_a_cell_may_have_line_breaks_and_separators():
    rows = 'item,condition,NP,V\n1,a,"The boy,\nhe said",runs\n1,b,The boy,run\n'
    assert parse_upload(rows.encode(), "suite.csv").document is not None
