"""Workbooks: cells are read as typed, nothing is run, and limits are respected."""

from __future__ import annotations

import io
import zipfile

import pytest

from lmgym.files.bounded import Limits, Refused
from lmgym.files.workbooks import is_workbook, read_workbook, write_xlsx
from lmgym.suites.formats import SuiteDocument, read_suite
from lmgym.suites.formats.write import write_workbook
from lmgym.suites.intake import parse_upload
from lmgym.suites.intake.parsing import ParseOptions
from tests.lmgym.suites.documents import suite_bytes

LIMITS = Limits(lines=1_000, cells=10_000, columns=100, seconds=20)
OFFICE = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
)


def ods(rows: str, doctype: str = "") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        book.writestr(
            "content.xml",
            f'<?xml version="1.0"?>{doctype}<office:document-content {OFFICE}><office:body><office:spreadsheet>'
            f'<table:table table:name="Tabelle1">{rows}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )
    return out.getvalue()


def cell(text: str, more: str = "") -> str:
    return f"<table:table-cell {more}><text:p>{text}</text:p></table:table-cell>"


def row(*cells: str, more: str = "") -> str:
    return f"<table:table-row {more}>{''.join(cells)}</table:table-row>"


def xlsx(*rows, name="Sheet") -> bytes:
    return write_xlsx([(name, rows)]).read()


def changed(data: bytes, path: str, change) -> bytes:
    """Return the workbook with one part changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            content = old.read(info)
            new.writestr(info.filename, change(content) if info.filename == path else content)
    return out.getvalue()


def test_cells_come_as_they_are_typed():
    [sheet] = read_workbook(xlsx(["item", "x"], [1, 2.5], [3.0, True], [None, "  ü\nz "]), LIMITS)
    assert sheet.rows == [["item", "x"], ["1", "2.5"], ["3", "TRUE"], ["", "  ü\nz "]]


def test_cells_of_an_ods_come_as_they_are_typed():
    rows = row(cell("item"), cell("a", 'table:number-columns-repeated="2"'))
    rows += row(
        cell("1,000", 'office:value-type="float" office:value="1000"'),
        "<table:table-cell/>",
        cell("x<text:s text:c='2'/>y<text:line-break/>z"),
    )
    rows += row("<table:table-cell/>", more='table:number-rows-repeated="1048570"')
    [sheet] = read_workbook(ods(rows), LIMITS)
    assert (sheet.name, sheet.rows) == ("Tabelle1", [["item", "a", "a"], ["1000", "", "x  y\nz"]])


def test_a_formula_is_read_as_the_value_beside_it_and_never_computed():
    formula = b'<c r="A2"><f>1+1</f><v>7</v></c><c r="B2"><f>WEBSERVICE("http://example.org")</f></c>'
    data = changed(
        xlsx(["a", "b"], [1, 2], ["x", "y"]),
        "xl/worksheets/sheet1.xml",
        lambda part: part.replace(b'<c r="A2" t="n"><v>1</v></c><c r="B2" t="n"><v>2</v></c>', formula),
    )
    assert read_workbook(data, LIMITS)[0].rows[1] == ["7"]


def test_what_looks_like_a_formula_is_written_as_text():
    texts = ["=1+1", "+1", "-ly", "@x", "'s", "=cmd|' /C calc'!A0", "#N/A", "a\x00b"]
    data = xlsx(texts)
    part = zipfile.ZipFile(io.BytesIO(data)).read("xl/worksheets/sheet1.xml")
    assert b"<f>" not in part
    assert b't="e"' not in part
    assert read_workbook(data, LIMITS)[0].rows[0] == [*texts[:-1], "a\ufffdb"]


@pytest.mark.parametrize("times", ["1048576", "999999999"])
def test_repeated_cells_and_rows_end_at_the_limits(times):
    with pytest.raises(Refused, match="columns"):
        read_workbook(ods(row(cell("x", f'table:number-columns-repeated="{times}"'))), LIMITS)
    with pytest.raises(Refused, match="rows"):
        read_workbook(ods(row(cell("x"), more=f'table:number-rows-repeated="{times}"')), LIMITS)


MANY = Limits(lines=400_000, cells=1_600_000, columns=1_000, seconds=30)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("<text:p/>" * 1_000_000 + row(*["<text:s/>"] * 1_000_000), "XML tags"),
        ("<table:table-row/>" * 2_000_000, "XML tags"),
        (row(cell("<text:s text:c='1000'/>" * 100)), "32,767 characters"),
        (row(cell("<text:s text:c='999999999'/>" * 2)), "32,767 characters"),
        (row(cell("x" * 30_000, 'table:number-columns-repeated="900"')), "20,000,000 characters"),
    ],
    ids=["elements", "empty rows", "spaces", "one long run of spaces", "one text in many cells"],
)
def test_an_ods_that_would_grow_is_refused(rows, why):
    with pytest.raises(Refused, match=why):
        read_workbook(ods(rows), MANY)


@pytest.mark.parametrize(("columns", "lines"), [(40, 2_000), (100, 400), (5, 20_000)])
def test_every_cell_of_an_honest_ods_counts_once(columns, lines):
    [sheet] = read_workbook(ods(row(*[cell("w")] * columns) * lines), MANY)
    assert (len(sheet.rows), {len(cells) for cells in sheet.rows}) == (lines, {columns})


def test_paragraphs_of_a_cell_are_lines_and_its_comment_is_no_text():
    note = "<office:annotation><text:p>ask Bob</text:p></office:annotation>"
    inside = "<text:p>a <text:span>b</text:span></text:p><text:p/><text:p>c</text:p>"
    rows = row(f"<table:table-cell>{note}{inside}</table:table-cell>", cell(f"d{note}e"))
    assert read_workbook(ods(rows), LIMITS)[0].rows == [["a b\n\nc", "de"]]


def test_a_cell_at_the_far_end_of_a_sheet_is_refused_and_takes_no_memory():
    far = changed(
        xlsx(["a"], ["b"]),
        "xl/worksheets/sheet1.xml",
        lambda part: part.replace(b'r="A2"', b'r="XFD2"'),
    )
    with pytest.raises(Refused, match="columns"):
        read_workbook(far, LIMITS)
    deep = changed(
        xlsx(["a"], ["b"]),
        "xl/worksheets/sheet1.xml",
        lambda part: part.replace(b'<row r="2">', b'<row r="1048576">').replace(b'r="A2"', b'r="A1048576"'),
    )
    with pytest.raises(Refused, match="rows"):
        read_workbook(deep, LIMITS)


def test_a_part_that_unpacks_to_too_much_is_refused_before_it_is_parsed():
    bomb = changed(xlsx(["a"]), "xl/worksheets/sheet1.xml", lambda part: b" " * 60_000_001)
    assert len(bomb) < 100_000
    with pytest.raises(Refused, match="60,000,000"):
        read_workbook(bomb, LIMITS)


ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


def test_entities_are_refused():
    with pytest.raises(Refused, match="damaged"):
        read_workbook(ods(row(cell("&b;")), ENTITIES), LIMITS)
    data = changed(
        xlsx(["a"]),
        "xl/worksheets/sheet1.xml",
        lambda part: ENTITIES.encode() + part.replace(b"<t>a</t>", b"<t>&b;</t>"),
    )
    with pytest.raises(Refused, match="damaged"):
        read_workbook(data, LIMITS)


def test_deep_xml_is_refused():
    with pytest.raises(Refused, match="nested"):
        read_workbook(ods("<text:span>" * 10_000 + "</text:span>" * 10_000), LIMITS)
    deep = b"<is>" + b"<r>" * 50_000 + b"</r>" * 50_000 + b"</is>"
    data = changed(
        xlsx(["a"], ["b"]),
        "xl/worksheets/sheet1.xml",
        lambda part: part.replace(b"<is><t>a</t></is>", deep),
    )
    try:
        read_workbook(data, LIMITS)
    except Refused as error:
        assert "damaged" in str(error)


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"", b"x", xlsx(["a"])[:300]])
def test_what_is_no_workbook_is_none(data):
    assert not is_workbook(data)


@pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/worksheets/sheet1.xml", "[Content_Types].xml"])
@pytest.mark.parametrize("content", [b"", b"<x/>", b"\xff\xfe", b"<worksheet>"])
def test_a_damaged_part_is_one_problem(part, content):
    data = changed(xlsx(["a"]), part, lambda old: content)
    try:
        read_workbook(data, LIMITS)
    except Refused as error:
        assert "damaged" in str(error)


def document() -> SuiteDocument:
    return read_suite(suite_bytes(name="round", items=3))


def test_a_suite_goes_out_as_xlsx_and_comes_back():
    data = write_workbook(document())
    again = parse_upload(data, "round.xlsx").document
    assert [row.contents for row in again.sentences] == [row.contents for row in document().sentences]
    assert (again.region_names, again.name) == (document().region_names, "round")


def test_of_several_sheets_the_one_that_is_a_suite_is_taken_or_asked_for():
    rows = (["item", "condition", "V"], [1, "a", "go"])
    both = [("Notes", (["Ask Bob", "about it"],)), ("Items", rows)]
    assert parse_upload(write_xlsx(both).read(), "x.xlsx").document.sentences[0].contents == ("go",)
    two = write_xlsx([("First", rows), ("Second", rows)]).read()
    reading = parse_upload(two, "x.xlsx")
    assert (reading.asks, reading.sheets) == (("sheet",), ["First", "Second"])
    assert parse_upload(two, "x.xlsx", ParseOptions(sheet="Second")).document is not None


ROWS = [["item", "condition", "A", "B"], [1, "a", "x", "y"], [1, "b", "x", "z"]]
WORKBOOKS = [
    (write_xlsx([("S", ROWS)]).read(), "s.xlsx"),
    (ods(f"<table:table-row>{cell('x')}</table:table-row>"), "s.ods"),
]


@pytest.mark.parametrize(("data", "name"), WORKBOOKS, ids=["xlsx", "ods"])
def test_a_member_whose_name_is_not_utf8_is_damage(data, name):
    changed = bytearray(data)
    changed[7], changed[30] = 0x08, 0xFF  # the flag for UTF-8, and the first byte of the name
    [problem] = parse_upload(bytes(changed), name).problems
    assert problem.message == "the workbook is damaged"


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
@pytest.mark.parametrize(("data", "name"), WORKBOOKS, ids=["xlsx", "ods"])
def test_half_a_workbook_is_damaged_and_no_archive(data, name, share):
    result = parse_upload(data[: int(share * len(data))], name)
    assert [str(problem) for problem in result.problems] == [
        "file: the workbook is damaged. Save it again as .xlsx or .ods."
    ]


def test_an_old_excel_file_is_named():
    [problem] = parse_upload(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "s.xls").problems
    assert "an old Excel workbook" in problem.message
