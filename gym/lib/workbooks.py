"""Cells of .xlsx and .ods workbooks as text, and sheets written as .xlsx. Pure.

Formulas and macros never run: of a formula the value is read that the program stored beside it. Everything is unpacked
once and counted before a parser sees it, and read row by row up to a limit; XML with entities or a document type is
refused (defusedxml, which openpyxl uses as well).
"""

from __future__ import annotations

import datetime
import io
import re
import time
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse
from openpyxl import Workbook, load_workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.utils.exceptions import InvalidFileException

from gym.lib.archives import MAGIC, Archive, ArchiveLimits
from gym.lib.bounded import Limits, Refused

UNPACKED = ArchiveLimits(entries=2_000, file_bytes=60_000_000, bytes=60_000_000)
MAX_SHEETS = 50
MAX_DEPTH = 64
"""Of the elements of a sheet, one in the other."""
_ODS = b"application/vnd.oasis.opendocument.spreadsheet"
_BAD = (
    InvalidFileException, DefusedXmlException, ParseError, zipfile.BadZipFile, KeyError, ValueError, TypeError,
    IndexError, AttributeError, RecursionError, EOFError, OSError,
)  # fmt: skip
"""What openpyxl raises for files that are no workbooks."""
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Sheet:
    name: str
    rows: list[list[str]]


def is_workbook(data: bytes) -> bool:
    """By content: an .xlsx (or .xlsm) or .ods, not any zip archive."""
    if not data.startswith(MAGIC):
        return False
    if _is_ods(data):
        return True
    try:
        return any(info.filename == "xl/workbook.xml" for info in Archive(data, UNPACKED).files())
    except Refused:
        return False


def _is_ods(data: bytes) -> bool:
    return _ODS in data[:200]


def read_workbook(data: bytes, limits: Limits) -> list[Sheet]:
    """Sheets that hold anything, cells as they would be typed; the rows are as long as what they hold. Of `limits`:
    lines, cells, columns, seconds, over all sheets. Raises Refused."""
    archive = Archive(data, UNPACKED)
    archive.measure()
    counter = _Counter(limits)
    try:
        sheets = _ods(data, counter) if _is_ods(data) else _xlsx(data, counter)
        found = [Sheet(name, rows) for name, rows in sheets]
    except Refused:
        raise
    except _BAD as error:
        raise Refused("the workbook is damaged", "Save it again as .xlsx or .ods.") from error
    return [sheet for sheet in found if sheet.rows]


class _Counter:
    """Adds up what is read."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.rows = self.cells = self.sheets = 0
        self.begun = time.thread_time()

    def sheet(self) -> None:
        self.sheets += 1
        if self.sheets > MAX_SHEETS:
            raise Refused(f"more than {MAX_SHEETS} sheets", "Save the one with the suite by itself.")

    def row(self, width: int) -> None:
        limits = self.limits
        self.rows += 1
        self.cells += width
        if limits.lines is not None and self.rows > limits.lines:
            raise Refused(f"more than {limits.lines:,} rows", "Split the workbook.")
        if limits.columns is not None and width > limits.columns:
            raise Refused(f"more than {limits.columns:,} columns", "Leave out those that are not read.")
        if limits.cells is not None and self.cells > limits.cells:
            raise Refused(f"more than {limits.cells:,} cells", "Split the workbook.")
        if limits.seconds is not None and time.thread_time() - self.begun > limits.seconds:
            raise Refused(f"reading it takes more than {limits.seconds:,.0f} seconds", "Split the workbook.")


def _trimmed(cells: Iterable[str]) -> list[str]:
    row = list(cells)
    while row and not row[-1]:
        row.pop()
    return row


# --- xlsx ---


def _xlsx(data: bytes, counter: _Counter) -> Iterator[tuple[str, list[list[str]]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of parts that are not read: validation, extensions
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    for sheet in book.worksheets:
        counter.sheet()
        sheet.reset_dimensions()  # what the file says about its size may be wrong
        yield sheet.title, list(_xlsx_rows(sheet, counter))


def _xlsx_rows(sheet: Any, counter: _Counter) -> Iterator[list[str]]:
    blank = 0
    for values in sheet.iter_rows(values_only=True):
        row = _trimmed(_typed(value) for value in values)
        counter.row(len(row))
        if not row:
            blank += 1
            continue
        yield from ([] for _ in range(blank))
        blank = 0
        yield row


def _typed(value: Any) -> str:
    """A cell's value as a person types it: 3, not 3.0."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    return str(value)


# --- ods ---

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_CELLS = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")


def _ods(data: bytes, counter: _Counter) -> Iterator[tuple[str, list[list[str]]]]:
    """Sheet by sheet from content.xml, whose rows are dropped as soon as they are read."""
    with zipfile.ZipFile(io.BytesIO(data)) as book, book.open("content.xml") as file:
        name, depth = "", 0
        rows: list[list[str]] = []
        for event, element in iterparse(file, events=("start", "end")):
            if event == "start":
                depth += 1
                if depth > MAX_DEPTH:
                    raise Refused("the workbook is nested too deeply", "Save it again as .ods or .xlsx.")
                if element.tag == f"{_TABLE}table":
                    counter.sheet()
                    name, rows = element.get(f"{_TABLE}name", ""), []
                continue
            depth -= 1
            if element.tag == f"{_TABLE}table-row":
                rows += _ods_rows(element, counter)
                element.clear()
            elif element.tag == f"{_TABLE}table":
                while rows and not rows[-1]:
                    rows.pop()
                yield name, rows
                element.clear()


def _ods_rows(element: Element, counter: _Counter) -> list[list[str]]:
    """A row as often as it is repeated; empty ones below the table are repeated a million times."""
    row: list[str] = []
    blank = 0
    for cell in element:
        if cell.tag not in _CELLS:
            continue
        times = _times(cell, "number-columns-repeated")
        text = _ods_text(cell)
        if not text:
            blank += times
            continue
        counter.row(len(row) + blank + times)
        row += [""] * blank + [text] * times
        blank = 0
    times = _times(element, "number-rows-repeated")
    if not row:
        return [[]] * min(times, 1)
    for _ in range(times):
        counter.row(len(row))
    return [list(row) for _ in range(times)]


def _times(element: Element, name: str) -> int:
    given = element.get(f"{_TABLE}{name}", "1")
    return max(1, int(given)) if given.isdecimal() and len(given) < 10 else 1


def _ods_text(cell: Element) -> str:
    """What the cell shows; of numbers the value itself, which has no thousands separators."""
    if cell.get(f"{_OFFICE}value-type") == "float":
        return _typed(float(cell.get(f"{_OFFICE}value", "0")))
    return "\n".join("".join(_pieces(part)) for part in cell if part.tag == f"{_TEXT}p")


def _pieces(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if child.tag == f"{_TEXT}s":
            yield " " * min(int(child.get(f"{_TEXT}c", "1")), 1_000)
        elif child.tag == f"{_TEXT}tab":
            yield "\t"
        elif child.tag == f"{_TEXT}line-break":
            yield "\n"
        elif not child.tag.startswith(_OFFICE):  # a comment is no text
            yield from _pieces(child)
        yield child.tail or ""


# --- writing ---


def write_xlsx(sheets: Sequence[tuple[str, Iterable[Sequence[Any]]]]) -> IO[bytes]:
    """A workbook of (name, rows) with a frozen, bold first row. Texts stay text, whatever they begin with: no cell is
    a formula, and a person who edits one does not make it one."""
    book = Workbook(write_only=True)
    for name, rows in sheets:
        sheet = book.create_sheet(name[:31])
        sheet.freeze_panes = "A2"
        for row in rows:
            sheet.append([_cell(sheet, value) for value in row])
    out = io.BytesIO()
    book.save(out)
    out.seek(0)
    return out


def _cell(sheet: Any, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = _ILLEGAL.sub("\ufffd", value)[:32_767]
    cell = WriteOnlyCell(sheet, text)
    cell.data_type = "s"
    if text[:1] in ("=", "+", "-", "@", "'"):
        cell.quotePrefix = True
    return cell
