"""Parse an uploaded file into a suite's document. The format is detected from the content.

What the file leaves open is listed in `ParseResult.asks` and passed back as `ParseOptions`: the text encoding, the
sheet of a workbook, the role of each column, and what unknown names mean in an existing suite.
"""

from __future__ import annotations

from dataclasses import replace

from lmgym.files.bounded import Refused
from lmgym.files.workbooks import Sheet, is_workbook, read_workbook
from lmgym.suites.formats import SuiteDocument, read_suite
from lmgym.suites.formats.documents import LIMITS, MAX_BYTES
from lmgym.suites.formats.tables import name_from
from lmgym.suites.intake.parsing import NOTHING, ParseOptions, ParseResult
from lmgym.suites.intake.sheets import read_cells, read_sheet
from lmgym.text.problems import FormatError, Notice, Problem

ENCODINGS = {
    "windows-1252": "Windows-1252 (Western European)",
    "windows-1250": "Windows-1250 (Central European)",
    "windows-1251": "Windows-1251 (Cyrillic)",
    "windows-1253": "Windows-1253 (Greek)",
    "windows-1254": "Windows-1254 (Turkish)",
    "mac-roman": "Mac Roman (old Macs)",
}
"""Names that Python knows, offered for texts that are no UTF-8; the first that fits is proposed."""
PREVIEWED = 4
"""Lines with letters beyond ASCII that are shown in each."""
WORKBOOK_LIMITS = replace(LIMITS, seconds=30)


def parse_upload(
    data: bytes,
    filename: str,
    answers: ParseOptions = NOTHING,
    known: SuiteDocument | None = None,
    *,
    pasted: bool = False,
) -> ParseResult:
    """As the file readers have it; a table that they refuse, one with columns that may be no regions, and what was
    pasted, is looked at cell by cell, as a spreadsheet. With `known`, names that this suite lacks are asked about.
    Never raises."""
    if len(data) <= MAX_BYTES and is_workbook(data):
        return _workbook(data, filename, answers, known)
    if not _is_unicode(data):
        if answers.encoding not in ENCODINGS:
            return _which_encoding(data, filename)
        data = data.decode(answers.encoding, "replace").encode()
    reading = None if answers.about_cells or pasted else _as_file(data, filename)
    if reading is not None and not (reading.document and reading.document.is_table):
        return reading
    text = (
        data.decode("utf-8-sig", "replace")
        if not data.startswith(_UTF16)
        else data.decode("utf-16", "replace")
    )
    sheet = read_sheet(text.replace("\r\n", "\n"), name_from(filename), answers, known)
    return sheet if reading is None or known or sheet.asks else reading


class NotUnderstood(FormatError):
    """A file that cannot be read as a suite without further answers. `reading` holds what was recognised and asked."""

    def __init__(self, reading: ParseResult) -> None:
        super().__init__(reading.problems)
        self.reading = reading


def read_any(data: bytes, filename: str, answers: ParseOptions = NOTHING) -> SuiteDocument:
    """Non-interactive `parse_upload`: the document, with how a sheet was read as notices. Raises NotUnderstood."""
    reading = parse_upload(data, filename, answers)
    if reading.document is None:
        raise NotUnderstood(reading)
    if reading.kind == "file":
        return reading.document
    notices = tuple(Notice("sheet", line.rstrip(".")) for line in reading.understood)
    return replace(reading.document, notices=notices)


_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def _as_file(data: bytes, filename: str) -> ParseResult | None:
    """None: a table that is to be looked at as a sheet."""
    try:
        document = read_suite(data, filename)
    except FormatError as error:
        looks_like_json = data.lstrip()[:1] in (b"{", b"[") or filename.lower().endswith((".json", ".jsonl"))
        if (
            looks_like_json
            or data.startswith(_UTF16)
            or any(problem.where == "file" for problem in error.problems)
        ):
            return ParseResult("file", problems=list(error.problems))
        return None
    return ParseResult("file", document, understood=[str(notice) for notice in document.notices])


def _is_unicode(data: bytes) -> bool:
    if data.startswith(_UTF16) or len(data) > MAX_BYTES:
        return True  # the readers say what is wrong
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _which_encoding(data: bytes, filename: str) -> ParseResult:
    """The readers' own problem, with how the letters look in each encoding that fits."""
    try:
        read_suite(data, filename)
        problems: list[Problem] = []
    except FormatError as error:
        problems = list(error.problems)
    reading = ParseResult("file", problems=problems)
    if data.count(b"\0") or not any(sign in data for sign in b",;\t{"):
        return reading  # no table and no JSON in any of them
    for encoding in ENCODINGS:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        lines = [line.strip()[:120] for line in text.splitlines() if not line.isascii()]
        reading.encodings[encoding] = lines[:PREVIEWED]
    if reading.encodings:
        reading.asks = ("encoding",)
    return reading


def _workbook(data: bytes, filename: str, answers: ParseOptions, known: SuiteDocument | None) -> ParseResult:
    try:
        sheets = read_workbook(data, WORKBOOK_LIMITS)
    except Refused as error:
        return ParseResult("sheet", problems=[Problem("file", error.message, error.hint)])
    if not sheets:
        return ParseResult("sheet", problems=[Problem("file", "the workbook is empty")])
    sheet = _chosen(sheets, answers)
    if sheet is None:
        names = [one.name for one in sheets]
        problem = Problem("file", f"the workbook has {len(names)} sheets", "Say which one holds the suite.")
        return ParseResult("sheet", problems=[problem], asks=("sheet",), sheets=names)
    reading = read_cells(sheet.rows, name_from(filename), answers, known)
    reading.sheets = [one.name for one in sheets]
    if len(sheets) > 1:
        reading.understood.append(f"Sheet “{sheet.name}” of {len(sheets)}; the others were not read.")
    return reading


def _chosen(sheets: list[Sheet], answers: ParseOptions) -> Sheet | None:
    """The one that was named, or the only one that can be a suite."""
    if answers.sheet:
        return next((one for one in sheets if one.name == answers.sheet), None)
    if len(sheets) == 1:
        return sheets[0]
    fitting = [one for one in sheets if read_cells(one.rows[:20]).kind in ("wide", "long")]
    return fitting[0] if len(fitting) == 1 else None
