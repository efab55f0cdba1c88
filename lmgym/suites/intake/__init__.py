"""Parse an uploaded file into a suite's document. The format is detected from the content.

Open questions are listed in `ParseResult.asks` and answered with `ParseOptions`, such as the text encoding, the sheet
of a workbook, the roles of columns, and the meaning of names that the target suite lacks.
"""

from __future__ import annotations

from dataclasses import replace

from lmgym.files.bounded import Refused
from lmgym.files.parquet import is_parquet, read_parquet
from lmgym.files.workbooks import Sheet, is_workbook, read_workbook
from lmgym.suites.formats import SuiteDocument, read_suite
from lmgym.suites.formats.documents import LIMITS, MAX_BYTES
from lmgym.suites.formats.tables import name_from
from lmgym.suites.intake.containers import holds_records
from lmgym.suites.intake.ibex import holds_items
from lmgym.suites.intake.linger import holds_linger
from lmgym.suites.intake.parsing import NOTHING, ParseOptions, ParseResult
from lmgym.suites.intake.reading import as_sentence
from lmgym.suites.intake.sheets import (
    read_cells,
    read_items,
    read_linger,
    read_objects,
    read_records,
    read_sheet,
)
from lmgym.text import listing
from lmgym.text.problems import MAX_PROBLEMS, FormatError, InvalidArgument, Notice, Problem

ENCODINGS = {
    "windows-1252": "Windows-1252 (Western European)",
    "windows-1250": "Windows-1250 (Central European)",
    "windows-1251": "Windows-1251 (Cyrillic)",
    "windows-1253": "Windows-1253 (Greek)",
    "windows-1254": "Windows-1254 (Turkish)",
    "mac-roman": "Mac Roman (old Macs)",
}
"""Python's names of encodings offered for text that is neither UTF-8 nor UTF-16; the first that fits is proposed."""
PREVIEWED = 4
"""Maximum number of sample lines with non-ASCII characters for each encoding."""
WORKBOOK_LIMITS = replace(LIMITS, seconds=30)


def parse_upload(
    data: bytes,
    filename: str,
    options: ParseOptions = NOTHING,
    known: SuiteDocument | None = None,
    *,
    pasted: bool = False,
) -> ParseResult:
    """Parse a file, or text that was pasted from a spreadsheet. Never raises.

    A table is parsed like a spreadsheet, cell by cell, if the strict readers refuse it, if a column may not be a
    region, if it was pasted, or if `options` or `known` say how to read it.

    Args:
        options: choices of the user; what is left empty is detected or becomes a question.
        known: suite whose names a table must use; other names become questions.
        pasted: the text comes from the clipboard.
    """
    if len(data) <= MAX_BYTES and is_workbook(data, filename):
        return _workbook(data, filename, options, known)
    if len(data) <= MAX_BYTES and is_parquet(data):
        return read_objects(lambda: read_parquet(data, LIMITS), name_from(filename), options, known)
    if not _is_unicode(data):
        if options.encoding not in ENCODINGS:
            return _which_encoding(data, filename)
        data = data.decode(options.encoding, "replace").encode()
    text = (
        data.decode("utf-8-sig", "replace")
        if not data.startswith(_UTF16)
        else data.decode("utf-16", "replace")
    )
    if len(data) <= MAX_BYTES and holds_items(text, filename):
        return read_items(text, name_from(filename), options, known)
    if len(data) <= MAX_BYTES and holds_records(text, filename):
        return read_records(text, name_from(filename), options, known)
    if len(data) <= MAX_BYTES and holds_linger(text):
        return read_linger(text, name_from(filename), options, known)
    result = None if options.about_cells or pasted else _as_file(data, filename)
    if result is not None and not (result.document and result.document.is_table):
        return result
    sheet = read_sheet(text.replace("\r\n", "\n"), name_from(filename), options, known)
    return sheet if result is None or known or sheet.asks else result


class NotUnderstood(FormatError):
    """A file cannot be read as a suite, or needs further options first.

    Attributes:
        result: the partial result; `result.asks` names the options that are needed.
    """

    def __init__(self, result: ParseResult) -> None:
        super().__init__(result.problems)
        self.result = result


def read_any(data: bytes, filename: str, options: ParseOptions = NOTHING) -> SuiteDocument:
    """Parse a file without asking questions; the document's notices describe how a sheet was interpreted.

    Raises:
        NotUnderstood: the file has problems or needs options.
        InvalidArgument: a name to be replaced is not in the file.
    """
    result = parse_upload(data, filename, options)
    if result.document is None:
        raise NotUnderstood(result)
    _check_replaced_names(result, options)
    if result.kind == "file":
        return result.document
    notices = tuple(Notice("sheet", line.rstrip(".")) for line in result.understood)
    return replace(result.document, notices=notices)


def _check_replaced_names(result: ParseResult, options: ParseOptions) -> None:
    """Raise InvalidArgument if the file lacks a name that is to be replaced or left out."""
    for what, replaced in (("conditions", options.conditions), ("regions", options.regions)):
        if replaced and what not in result.names:
            raise InvalidArgument(f"{what}: names can be replaced in a table only, and if it has them.")
        for name in replaced:
            if name not in result.names[what]:
                has = listing(result.names[what]) or "none"
                raise InvalidArgument(f"{what}: {name!r} is not in the table. It has {has}.")


_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def _as_file(data: bytes, filename: str) -> ParseResult | None:
    """Read a file with the strict readers; None for a table that must be read as a sheet."""
    try:
        document = read_suite(data, filename)
    except FormatError as error:
        looks_like_json = data.lstrip()[:1] in (b"{", b"[") or filename.lower().endswith((".json", ".jsonl"))
        if (
            looks_like_json
            or data.startswith(_UTF16)
            or any(problem.where == "file" for problem in error.problems[:MAX_PROBLEMS])
        ):
            return ParseResult("file", problems=list(error.problems))
        return None
    return ParseResult("file", document, understood=[*map(as_sentence, document.notices)])


def _is_unicode(data: bytes) -> bool:
    if data.startswith(_UTF16) or len(data) > MAX_BYTES:
        return True  # the readers report the problem
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _which_encoding(data: bytes, filename: str) -> ParseResult:
    """Return the problems that the readers report, with a preview in each encoding that fits."""
    try:
        read_suite(data, filename)
        problems: list[Problem] = []
    except FormatError as error:
        problems = list(error.problems)
    result = ParseResult("file", problems=problems)
    if data.count(b"\0") or not any(sign in data for sign in b",;\t{"):
        return result  # neither a table nor JSON in any encoding
    for encoding in ENCODINGS:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        lines = [line.strip()[:120] for line in text.splitlines() if not line.isascii()]
        result.encodings[encoding] = lines[:PREVIEWED]
    if result.encodings:
        result.asks = ("encoding",)
    return result


def _workbook(data: bytes, filename: str, options: ParseOptions, known: SuiteDocument | None) -> ParseResult:
    try:
        sheets = read_workbook(data, WORKBOOK_LIMITS)
    except Refused as error:
        return ParseResult("sheet", problems=[Problem("file", error.message, error.hint)])
    if not sheets:
        return ParseResult("sheet", problems=[Problem("file", "the workbook is empty")])
    sheet = _chosen(sheets, options)
    if sheet is None:
        names = [sheet.name for sheet in sheets]
        quoted_names = listing([f"“{name}”" for name in names], 12)
        message = f"the workbook has {len(names)} sheets: {quoted_names}"
        if options.sheet:
            message = f"the workbook has no sheet “{options.sheet}”; it has {quoted_names}"
        problem = Problem("file", message, "Choose the sheet with the suite.")
        return ParseResult("sheet", problems=[problem], asks=("sheet",), sheets=names)
    result = read_cells(sheet.rows, name_from(filename), options, known)
    result.sheets = [other.name for other in sheets]
    if len(sheets) > 1:
        result.understood.append(f"Of {len(sheets)} sheets, only “{sheet.name}” was read.")
    return result


def _chosen(sheets: list[Sheet], options: ParseOptions) -> Sheet | None:
    """Return the sheet named in the options, or the only one that looks like a suite."""
    if options.sheet:
        return next((sheet for sheet in sheets if sheet.name == options.sheet), None)
    if len(sheets) == 1:
        return sheets[0]
    fitting = [sheet for sheet in sheets if read_cells(sheet.rows[:20]).kind in ("wide", "long", "pairs")]
    return fitting[0] if len(fitting) == 1 else None
