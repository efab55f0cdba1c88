"""Read cells of .xlsx and .ods workbooks as text, and write sheets as .xlsx.

Formulas and macros never run: the stored value of a formula is read. The archive is unpacked once and measured before a
parser sees it, then read row by row up to a limit. XML with entities is refused, in .ods also a document type
(defusedxml, which openpyxl uses as well).
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
from xml.etree.ElementTree import ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser
from openpyxl import Workbook, load_workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.utils.exceptions import InvalidFileException

from lmgym.files.archives import MAGIC, Archive, ArchiveLimits, Damaged
from lmgym.files.bounded import BLOCK, Limits, Refused

UNPACKED = ArchiveLimits(entries=2_000, file_bytes=60_000_000, bytes=60_000_000)
MAX_TAGS = 2_000_000
"""Limit on XML tags in all parts, counted before parsing: about four per cell; .ods takes a second to parse."""
MAX_SHEETS = 50
MAX_CELL_CHARACTERS = 32_767
"""Maximum number of characters in a cell, the limit of Excel and LibreOffice."""
MAX_CHARACTERS = 20_000_000
"""Limit on characters in all cells: in the file, many cells can share one string."""
MAX_DEPTH = 64
"""Limit on the nesting depth of XML elements in a sheet."""
_ODS = b"application/vnd.oasis.opendocument.spreadsheet"
_BAD = (
    InvalidFileException, DefusedXmlException, ParseError, zipfile.BadZipFile, KeyError, ValueError, TypeError,
    IndexError, AttributeError, RecursionError, EOFError, OSError,
)  # fmt: skip
"""Exceptions that openpyxl raises for files that are not workbooks."""
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Sheet:
    """One sheet of a workbook; rows end at their last cell that is not empty."""

    name: str
    rows: list[list[str]]


def is_workbook(data: bytes, filename: str = "") -> bool:
    """Recognise .xlsx, .xlsm and .ods by content, and a damaged one by its name; other zip archives are not
    workbooks."""
    if not data.startswith(MAGIC):
        return False
    if _is_ods(data) or filename.lower().endswith((".xlsx", ".xlsm", ".ods")):
        return True
    try:
        return any(info.filename == "xl/workbook.xml" for info in Archive(data, UNPACKED).files())
    except Refused:
        return False


def _is_ods(data: bytes) -> bool:
    return _ODS in data[:200]


def read_workbook(data: bytes, limits: Limits) -> list[Sheet]:
    """Read all sheets that are not empty, with cells as a person would type them.

    Args:
        limits: `lines`, `cells` and `seconds` (of wall-clock time) over all sheets, and `columns` per row; other limits
            are ignored.

    Raises:
        Refused: the workbook exceeds a limit or is damaged.
    """
    counter = _Counter(limits)
    try:
        Archive(data, UNPACKED).measure(MAX_TAGS)
        sheets = _ods(data, counter) if _is_ods(data) else _xlsx(data, counter)
        workbook = [Sheet(name, rows) for name, rows in sheets]
    except Damaged as error:
        raise _damaged() from error
    except Refused:
        raise
    except _BAD as error:
        raise _damaged() from error
    return [sheet for sheet in workbook if sheet.rows]


class _Counter:
    """Counter of rows, cells, characters and seconds that refuses a workbook when it exceeds a limit."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.rows = self.cells = self.sheets = self.characters = 0
        self.start = time.monotonic()

    def sheet(self) -> None:
        self.sheets += 1
        if self.sheets > MAX_SHEETS:
            raise Refused(f"more than {MAX_SHEETS} sheets", "Save the suite's sheet as a separate file.")

    def width(self, columns: int) -> None:
        most = self.limits.columns
        if most is not None and columns > most:
            raise Refused(f"more than {most:,} columns", "Leave out unused columns.")

    def row(self, cells: Sequence[str]) -> None:
        limits = self.limits
        self.rows += 1
        self.cells += len(cells)
        self.characters += sum(map(len, cells))
        if limits.lines is not None and self.rows > limits.lines:
            raise Refused(f"more than {limits.lines:,} rows", "Split the workbook.")
        self.width(len(cells))
        if any(len(cell) > MAX_CELL_CHARACTERS for cell in cells):
            raise _long_cell()
        if self.characters > MAX_CHARACTERS:
            raise Refused(f"more than {MAX_CHARACTERS:,} characters", "Split the workbook.")
        if limits.cells is not None and self.cells > limits.cells:
            raise Refused(f"more than {limits.cells:,} cells", "Split the workbook.")
        if limits.seconds is not None and time.monotonic() - self.start > limits.seconds:
            raise Refused(
                f"reading the workbook takes more than {limits.seconds:,.0f} seconds", "Split the workbook."
            )


def _damaged() -> Refused:
    return Refused("the workbook is damaged", "Save it again as .xlsx or .ods.")


def _long_cell() -> Refused:
    return Refused(f"a cell has more than {MAX_CELL_CHARACTERS:,} characters", "Shorten or remove it.")


def _trimmed(cells: Iterable[str]) -> list[str]:
    row = list(cells)
    while row and not row[-1]:
        row.pop()
    return row


# --- xlsx ---


def _xlsx(data: bytes, counter: _Counter) -> Iterator[tuple[str, list[list[str]]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about unread parts: validation, extensions
        book = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    for sheet in book.worksheets:
        counter.sheet()
        sheet.reset_dimensions()  # the size declared in the file may be wrong
        yield sheet.title, list(_xlsx_rows(sheet, counter))


def _xlsx_rows(sheet: Any, counter: _Counter) -> Iterator[list[str]]:
    blank = 0
    for values in sheet.iter_rows(values_only=True):
        row = _trimmed(_typed(value) for value in values)
        counter.row(row)
        if not row:
            blank += 1
            continue
        yield from ([] for _ in range(blank))
        blank = 0
        yield row


def _typed(value: Any) -> str:
    """Format a cell's value as a person would type it: 3, not 3.0."""
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
_PARAGRAPH = f"{_TEXT}p"
_SPACES = {f"{_TEXT}s": " ", f"{_TEXT}tab": "\t", f"{_TEXT}line-break": "\n"}


def _ods(data: bytes, counter: _Counter) -> list[tuple[str, list[list[str]]]]:
    reader = _OdsReader(counter)
    parser = DefusedXMLParser(target=reader, forbid_dtd=True)
    with zipfile.ZipFile(io.BytesIO(data)) as book, book.open("content.xml") as file:
        while block := file.read(BLOCK):
            parser.feed(block)
    parser.close()
    return reader.sheets


class _OdsReader:
    """XML parser target that collects the cells of content.xml without building a tree."""

    def __init__(self, counter: _Counter) -> None:
        self.sheets: list[tuple[str, list[list[str]]]] = []
        self._counter = counter
        self._open: list[str] = []
        self._row: list[str] = []
        self._row_times = self._cell_times = 1
        self._blank = 0
        self._number: str | None = None
        self._pieces: list[str] = []
        self._length = 0
        self._paragraph = 0
        """Depth of the open paragraph of a cell; 0 outside a paragraph."""
        self._hidden = 0
        """Depth of an open comment within the cell, whose text is skipped; 0 outside a comment."""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._open.append(tag)
        depth = len(self._open)
        if depth > MAX_DEPTH:
            raise Refused("the workbook is nested too deeply", "Save it again as .ods or .xlsx.")
        if tag == f"{_TABLE}table":
            self._counter.sheet()
            self.sheets.append((attributes.get(f"{_TABLE}name", ""), []))
        elif tag == f"{_TABLE}table-row":
            self._row, self._blank = [], 0
            self._row_times = _times(attributes, "number-rows-repeated")
        elif tag in _CELLS:
            self._pieces, self._length = [], 0
            self._cell_times = _times(attributes, "number-columns-repeated")
            is_number = attributes.get(f"{_OFFICE}value-type") == "float"
            self._number = attributes.get(f"{_OFFICE}value", "0") if is_number else None
        elif tag == _PARAGRAPH and depth > 1 and self._open[-2] in _CELLS:
            self._paragraph = depth
            if self._pieces:
                self._add("\n")
        elif self._paragraph and tag.startswith(_OFFICE) and not self._hidden:
            self._hidden = depth
        elif space := _SPACES.get(tag):
            self.data(space * min(int(attributes.get(f"{_TEXT}c", "1")), MAX_CELL_CHARACTERS))

    def data(self, text: str) -> None:
        if self._paragraph and not self._hidden:
            self._add(text)

    def _add(self, text: str) -> None:
        self._length += len(text)
        if self._length > MAX_CELL_CHARACTERS:
            raise _long_cell()
        self._pieces.append(text)

    def end(self, tag: str) -> None:
        depth = len(self._open)
        self._open.pop()
        if depth == self._hidden:
            self._hidden = 0
        elif depth == self._paragraph:
            self._paragraph = 0
            self._pieces = self._pieces or [""]
        elif tag in _CELLS:
            self._end_cell()
        elif tag == f"{_TABLE}table-row" and self.sheets:
            self._end_row()

    def close(self) -> None:
        for _, rows in self.sheets:
            while rows and not rows[-1]:
                rows.pop()

    def _end_cell(self) -> None:
        """Add the displayed text of a cell, or the bare value of a number, without thousands separators."""
        text = "".join(self._pieces) if self._number is None else _typed(float(self._number))
        if not text:
            self._blank += self._cell_times
            return
        self._counter.width(len(self._row) + self._blank + self._cell_times)
        self._row += [""] * self._blank + [text] * self._cell_times
        self._blank = 0

    def _end_row(self) -> None:
        """Add a row with its repetitions. An empty row is added once: files may end with a million of them."""
        rows = self.sheets[-1][1]
        if not self._row:
            self._counter.row([])
            rows.append([])
            return
        for _ in range(self._row_times):
            self._counter.row(self._row)
            rows.append(list(self._row))


def _times(attributes: dict[str, str], name: str) -> int:
    times = attributes.get(f"{_TABLE}{name}", "1")
    return max(1, int(times)) if times.isdecimal() and len(times) < 10 else 1


# --- writing ---


def write_xlsx(sheets: Sequence[tuple[str, Iterable[Sequence[Any]]]]) -> IO[bytes]:
    """Write a workbook with a frozen first row per sheet.

    Text is stored as text, whatever it begins with: no cell becomes a formula, even when it is edited. Sheet names and
    texts that are too long for Excel are cut, and characters that XML forbids are replaced by U+FFFD.

    Args:
        sheets: (name, rows) of each sheet.
    """
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
