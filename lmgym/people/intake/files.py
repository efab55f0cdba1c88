"""Recognise a file with human data by its content and read its tables."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lmgym.files.bounded import Refused, opened
from lmgym.files.parquet import is_parquet, read_parquet
from lmgym.files.workbooks import is_workbook, read_workbook
from lmgym.people.intake import records
from lmgym.people.intake.building import rows_of
from lmgym.people.intake.delimited import built, header_of, read_delimited, unique_names
from lmgym.people.intake.exported import recognised
from lmgym.people.intake.limits import LIMITS, MAX_BYTES, MAX_KINDS, WORKBOOK_LIMITS
from lmgym.people.intake.pcibex import is_pcibex, read_pcibex
from lmgym.people.intake.table import PeopleTable
from lmgym.suites.intake import ENCODINGS
from lmgym.suites.intake.questions import Question
from lmgym.text import CONTROL, decode
from lmgym.text.problems import Notice, Report

_GORILLA_KINDS = ("Zone Type", "Response Type", "Object Name")
"""Columns of Gorilla's files that tell apart kinds of rows, old and new task builder."""


@dataclass(frozen=True)
class FileContents:
    """A file that was read, or a question to ask before it can be.

    Attributes:
        sha256: of the file as uploaded, 64 hexadecimal digits.
        tables: at least one, unless `questions` is not empty.
        n_others: rows that are of no table: begin and end of trials, forms, free text.
    """

    sha256: str
    tables: tuple[PeopleTable, ...] = ()
    questions: tuple[Question, ...] = ()
    notices: tuple[Notice, ...] = ()
    n_others: int = 0


def read_file(data: bytes, answers: Mapping[str, str] | None = None) -> FileContents:
    """Read the tables of a file, which may be compressed with gzip.

    Args:
        answers: "encoding" (of text that is neither UTF-8 nor UTF-16) and "sheet" (of a workbook with several).

    Raises:
        FormatError: the file cannot be read. No other exception is raised, whatever the bytes.
    """
    report = Report()
    answers = answers or {}
    digest = hashlib.sha256(data).hexdigest()
    try:
        if is_workbook(data):
            return _workbook(data, answers, digest, report)
        if is_parquet(data):
            objects = records.read_objects(read_parquet(data, LIMITS), "Parquet", report)
            return FileContents(digest, tuple(map(recognised, objects)), notices=tuple(report.notices))
        data = opened(io.BytesIO(data), LIMITS).read()
    except Refused as error:
        report.refuse(error)
    if question := _which_encoding(data, answers):
        return FileContents(digest, questions=(question,))
    if answers.get("encoding") in ENCODINGS and not _is_unicode(data):
        data = data.decode(answers["encoding"], "replace").encode()
    text = decode(data, report, MAX_BYTES)
    if bad := CONTROL.search(text):
        line = text.count("\n", 0, bad.start()) + 1
        message = f"control character U+{ord(bad[0]):04X}"
        report.problem(f"line {line}", message, "Remove it; it often results from a wrong encoding.")
        report.raise_problems()
    tables, n_others = _tables(text, report)
    return FileContents(digest, tuple(tables), notices=tuple(report.notices), n_others=n_others)


def _tables(text: str, report: Report) -> tuple[Sequence[PeopleTable], int]:
    if text.lstrip()[:1] in ("[", "{"):
        return [recognised(table) for table in records.read_json(text, report)], 0
    if is_pcibex(text):
        return read_pcibex(text, report)
    first = text.lstrip("\n").partition("\n")[0]
    if records.KIND in first and records.is_trials(
        [cell.strip('"\r ') for cell in first.replace(";", ",").split(",")]
    ):
        return records.read_csv(text, report), 0
    return by_kind(read_delimited(text, report), report)


def _is_unicode(data: bytes) -> bool:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _which_encoding(data: bytes, answers: Mapping[str, str]) -> Question | None:
    """Ask for the encoding of text in another one, unless it is answered; None also for files that are no text."""
    if answers.get("encoding") in ENCODINGS or _is_unicode(data) or b"\0" in data:
        return None
    line = next((line for line in data.split(b"\n") if not line.isascii()), b"")[:80]
    choices = {
        key: f"{label}: {line.decode(key, 'replace').strip()}"
        for key, label in ENCODINGS.items()
        if _fits(data, key)
    }
    return Question("encoding", "Encoding", choices, next(iter(choices))) if choices else None


def _fits(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _workbook(data: bytes, answers: Mapping[str, str], digest: str, report: Report) -> FileContents:
    sheets = [sheet for sheet in read_workbook(data, WORKBOOK_LIMITS) if len(sheet.rows) > 1]
    if not sheets:
        report.problem("file", "no sheet of the workbook has more than one row")
        report.raise_problems()
    names = {sheet.name: sheet.name for sheet in sheets}
    if len(sheets) > 1 and answers.get("sheet") not in names:
        return FileContents(
            digest, questions=(Question("sheet", "Sheet with the data", names, sheets[0].name),)
        )
    sheet = next((sheet for sheet in sheets if sheet.name == answers.get("sheet")), sheets[0])
    rows = [(number, cells) for number, cells in enumerate(sheet.rows, 1) if any(cells)]
    place = header_of([cells for _, cells in rows[:20]])
    header_line, header = rows[place]
    builder = built(unique_names(header), rows[place + 1 :], report, "row")
    label = f"{len(builder):,} rows"
    table = builder.table(name="table", label=label, reader="workbook", place="row", header_line=header_line)
    tables, n_others = by_kind(table, report)
    return FileContents(digest, tuple(tables), notices=tuple(report.notices), n_others=n_others)


def by_kind(table: PeopleTable, report: Report) -> tuple[list[PeopleTable], int]:
    """Split a table of Gorilla into one table per kind of row; other tables stay whole, with what an export states.

    Returns:
        The tables, and the number of rows that are in none: ends of files, and rows of no kind.

    Raises:
        FormatError: too many kinds.
    """
    names = {column.name: column for column in table.columns}
    n_rows = len(table)
    if "Participant Private ID" not in names:
        return [recognised(table)], 0
    if event := names.get("Event Index"):
        ends = np.array([text.upper() == "END OF FILE" for text in event.texts])
        table = rows_of(table, ~ends[event.codes])
    table = replace(table, reader="Gorilla")
    kind = next(
        (table.columns[k] for k, column in enumerate(table.columns) if column.name in _GORILLA_KINDS), None
    )
    kinds = {code: text for code, text in enumerate(kind.texts) if text} if kind else {}
    if kind is None or not kinds:
        return [table], n_rows - len(table)
    if len(kinds) > MAX_KINDS:
        message = f"more than {MAX_KINDS} kinds of rows in “{kind.name}”"
        report.problem("file", message, "Leave out rows that are not needed.")
        report.raise_problems()
    tables = []
    for code, text in kinds.items():
        mask = kind.codes == code
        label = f"{kind.name} “{text[:60]}” ({int(mask.sum()):,} rows)"
        tables.append(replace(rows_of(table, mask), name=text[:200], label=label))
    return tables, n_rows - sum(map(len, tables))
