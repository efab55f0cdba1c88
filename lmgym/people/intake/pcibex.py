"""Results files of PCIbex (PennController) and Ibex.

Comment lines name the columns: `# 9. PennElementName.` They are repeated, from the first that changes on, wherever the
columns change, so each row has the columns of the nearest header above it. Commas and control characters in cells are
written as %2C, %0A and so on; other percent signs are text (`csv_url_encode` of Ibex).
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace

import numpy as np

from lmgym.files.bounded import Refused
from lmgym.people.intake.building import (
    BLOCK_ROWS,
    TableBuilder,
    crossed,
    number_column,
    presentation_order,
    rows_of,
)
from lmgym.people.intake.delimited import lines_of
from lmgym.people.intake.headings import heading_role
from lmgym.people.intake.limits import MAX_COLUMNS, MAX_HEADER_LINES, MAX_KINDS
from lmgym.people.intake.numbers import is_missing, verdict
from lmgym.people.intake.table import PeopleTable, TextColumn
from lmgym.suites.intake.parsing import column_letter
from lmgym.text import count
from lmgym.text.problems import Report

_HEADER = re.compile(r'"?#\s*(\d{1,4})\.')
_ENCODED = re.compile(r"%(2C|[01][0-9A-F]|7F)")
_SEARCHED = 60
"""Number of first lines searched for a header."""
MAX_ELEMENTS = 10
"""Number of elements of one type that get tables of their own."""
ORDER = "Trial (order in the file)"

_TYPE, _NAME, _PARAMETER = "PennElementType", "PennElementName", "Parameter"
_CONTROLLER = "Controller name"
_NO_MEASURE = re.compile(
    r"PennController|.*(Form|Html|TextInput|Separator|Message|Text|Audio|Video|Image|Youtube|Canvas|Button|Timer|"
    r"MediaRecorder|VoiceRecorder|EyeTracker|Header|Var|Tooltip|Function)"
)
"""Element types without judgments. Forms and text fields hold what participants wrote, which is never read."""
_ROLES = {
    "MD5 hash of participant's IP address": "participant",
    "Reading time": "rt_ms",
    "Word number": "word",
    "Word": "word_text",
    "Sentence (or sentence MD5)": "sentence",
    "Sentence": "sentence",
    "Group": "item",
    "Item": "item",
    "Label": "condition",
    "Type": "condition",
    "Latin Square Group": "list",
    "List": "list",
    "Whether or not answer was correct (NULL if N/A)": "correct",
    ORDER: "trial",
}
"""Roles of the columns that PCIbex and Ibex name. Headings propose those of the experiment's own columns."""


def is_pcibex(text: str) -> bool:
    """Recognise a results file by its numbered header lines."""
    if "#" not in text[:3]:
        return False
    lines = text[:20_000].split("\n", _SEARCHED)
    return sum(bool(_HEADER.match(line)) for line in lines) >= 3


def decoded(cell: str) -> str:
    """Decode commas and control characters."""
    return _ENCODED.sub(lambda match: chr(int(match[1], 16)), cell) if "%" in cell else cell


def encoded(cell: str) -> str:
    """Encode commas and control characters as Ibex does."""
    return re.sub(r"[\x00-\x1f\x7f,]", lambda match: f"%{ord(match[0]):02X}", cell)


class _Layout:
    """Columns of the rows below a header."""

    def __init__(self, numbered: dict[int, str]) -> None:
        width = max(numbered)
        names: dict[str, None] = {}
        for k in range(1, width + 1):
            name = numbered.get(k) or f"column {k}"
            names[name if name not in names else f"{name} ({k})"] = None
        self.names = list(names)
        place = {name: k for k, name in enumerate(self.names)}
        self.is_penn = _TYPE in place
        self.is_complete = _TYPE in place or _CONTROLLER in place
        self._type = place.get(_TYPE, place.get(_CONTROLLER, 0))
        self._parameter = place.get(_PARAMETER, 0)
        self.has_times = "Reading time" in place
        self._has_answer = "Answer" in place

    def kind(self, cells: list[str]) -> tuple[str, str] | None:
        """Return (type, parameter) of a row with a measure, otherwise None.

        The parameter of an Ibex controller in PCIbex is the number of a word or the text of a question.
        """
        element = cells[self._type]
        if not self.is_penn:
            if self.has_times:
                return element, ""
            return (element, "Answer") if self._has_answer else None
        parameter = cells[self._parameter]
        if parameter.startswith("_") or _NO_MEASURE.fullmatch(element):
            return None
        if element.startswith("Controller-"):
            has_words = self.has_times and parameter.isdecimal()
            return (element, "") if has_words or "Dashed" not in element else None
        return element, parameter


def read_pcibex(text: str, report: Report) -> tuple[list[PeopleTable], int]:
    """Split a results file into one table per kind of row: reading times, ratings by element, choices.

    Returns:
        The tables, and the number of rows without measures (begin and end of trials, forms, free text).
    """
    reader = _Reader(report)
    try:
        for number, line in enumerate(lines_of(text), start=1):
            reader.line(number, line.rstrip("\r\n"))
        reader.flush()
    except Refused as error:
        report.refuse(error)
    report.raise_problems()
    if not reader.builders:
        report.problem(
            "file",
            "no row has a reading time, rating or choice",
            "Upload the results file of the experiment.",
        )
        report.raise_problems()
    tables = [
        table
        for kind, builder in reader.builders.items()
        for table in _of_elements(kind, builder, reader.is_penn)
    ]
    return tables, reader.n_others


class _Reader:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._numbered: dict[int, str] = {}
        self._layouts: dict[tuple[tuple[int, str], ...], _Layout] = {}
        self._layout: _Layout | None = None
        self._rows: dict[tuple[int, tuple[str, str]], list[tuple[int, list[str]]]] = defaultdict(list)
        self._by_id: dict[int, _Layout] = {}
        self._n_waiting = self._n_headers = 0
        self.builders: dict[tuple[str, str], TableBuilder] = {}
        self.n_others = 0
        self.is_penn = False

    def line(self, number: int, line: str) -> None:
        """Read one line: a header, a comment or a row."""
        if line.startswith(("#", '"#')):
            if match := _HEADER.match(line):
                name = line[match.end() :].rstrip(', "').removesuffix(".").strip()
                self._head(number, int(match[1]), name[:200])
        elif line.strip(" ,"):
            self._row(number, line)

    def _head(self, number: int, place: int, name: str) -> None:
        if not 0 < place <= MAX_COLUMNS:
            self._report.problem(
                f"line {number}", f"a header with the column number {place}", "Is the file damaged?"
            )
            return
        self._n_headers += 1
        if self._n_headers > MAX_HEADER_LINES:
            self._report.problem(
                f"line {number}", f"more than {MAX_HEADER_LINES:,} header lines", "Split the file."
            )
            self._report.raise_problems()
        if place > 1 + max(self._numbered, default=0):
            message = f"the header continues with column {place}, but no line above names column {place - 1}"
            self._report.problem(f"line {number}", message, "Upload the whole results file.")
        for later in [k for k in self._numbered if k >= place]:
            del self._numbered[later]
        self._numbered[place] = name
        self._layout = None

    def _row(self, number: int, line: str) -> None:
        layout = self._layout
        if layout is None:
            if not self._numbered:
                self._report.problem(
                    f"line {number}", "a row without a header above it", "Upload the whole results file."
                )
                return
            key = tuple(self._numbered.items())
            layout = self._layouts.setdefault(key, _Layout(self._numbered))
            self._by_id[id(layout)] = self._layout = layout
            self.is_penn |= layout.is_penn
        if not layout.is_complete:
            message = f"the header above names no column “{_TYPE}” or “{_CONTROLLER}”"
            self._report.problem(f"line {number}", message, "Upload the whole results file.")
            return
        cells = line.split(",")
        width = len(layout.names)
        if len(cells) != width:
            if len(cells) > width and any(cells[width:]):
                message = f"{count(len(cells), 'cell')}, but the header above names {count(width, 'column')}"
                self._report.problem(f"line {number}", message, "Commas inside a text are written as %2C.")
                return
            cells = (cells + [""] * width)[:width]
        kind = layout.kind(cells)
        if kind is None:
            self.n_others += 1
            return
        self._rows[id(layout), kind].append((number, cells))
        self._n_waiting += 1
        if self._n_waiting >= BLOCK_ROWS:
            self.flush()

    def flush(self) -> None:
        """Move the rows read so far to their tables."""
        for (layout, kind), rows in self._rows.items():
            if kind not in self.builders and len(self.builders) >= MAX_KINDS:
                self._report.problem(
                    "file", f"more than {MAX_KINDS} kinds of rows", "Leave out rows that are not needed."
                )
                self._report.raise_problems()
            lines, cells = zip(*rows, strict=True)
            self.builders.setdefault(kind, TableBuilder()).add(self._by_id[layout].names, cells, lines)
        self._rows.clear()
        self._n_waiting = 0


def _of_elements(kind: tuple[str, str], builder: TableBuilder, is_penn: bool) -> list[PeopleTable]:
    """Return a table per element of a type, such as two scales after each sentence; many elements share a table."""
    reader = "PCIbex results" if is_penn else "Ibex results"
    whole = builder.table(decoded, name="-".join(filter(None, kind))[:200], label="", reader=reader)
    names = next((column for column in whole.columns if column.name == _NAME), None)
    if names is None or len(names.texts) > MAX_ELEMENTS:
        return [_table(kind, "", whole)]
    element, parameter = kind
    return [
        _table(
            kind,
            text,
            replace(
                rows_of(whole, names.codes == code),
                name="-".join(filter(None, (element, text, parameter)))[:200],
            ),
        )
        for code, text in enumerate(names.texts)
    ]


def _table(kind: tuple[str, str], name: str, table: PeopleTable) -> PeopleTable:
    """Describe a table, number its trials and give its columns their roles."""
    element = kind[0]
    columns = {column.name: column for column in table.columns}
    table = replace(table, columns=(*table.columns, _order(columns, len(table))))
    has_times = "Reading time" in columns and ("Dashed" in element or _TYPE not in columns)
    of = f"{element.removeprefix('Controller-')}{f' “{name[:60]}”' if name and name not in element else ''}"
    label = f"{'reading times: ' if has_times else ''}{of} ({len(table):,} rows)"
    return replace(table, label=label, roles=_roles(table.columns, element, has_times))


def _order(columns: dict[str, TextColumn], n: int) -> TextColumn:
    """Number the trials of each participant in the order of the file, which is that of presentation."""
    people = next(
        (columns[name] for name, role in _ROLES.items() if role == "participant" and name in columns), None
    )
    parts = [
        columns[name]
        for name in ("Order number of item", "Item number", "Label", "Type", "Item", "Group", "Sentence")
        if name in columns
    ]
    if people is None or not parts:
        return number_column(ORDER, np.zeros(n, np.int32))
    return number_column(ORDER, presentation_order(people.codes, crossed(parts)[0]))


def _roles(columns: tuple[TextColumn, ...], element: str, has_times: bool) -> tuple[tuple[str, str], ...]:
    names = [column.name for column in columns]
    has_condition = any(heading_role(name) == "condition" and name not in _ROLES for name in names)
    roles: dict[str, str] = {}
    for column in columns:
        role = _ROLES.get(column.name, "")
        if column.name == "Parameter":
            role = "word" if has_times else "skip"
        elif column.name == "Value":
            role = "word_text" if has_times else _judgment(element, column)
        elif column.name == "Answer":
            role = _judgment(element, column)
        elif (column.name == "Reading time" and not has_times) or (
            column.name in ("Label", "Type") and has_condition
        ):
            role = "skip"
        elif column.name == "Group" and "Item" in names:
            role = "list"
        elif (role == "sentence" and all(re.fullmatch(r"[0-9a-f]{32}", text) for text in column.texts)) or (
            not role and (names.index(column.name) < 12 or column.name in ("Newline?", "Comments"))
        ):
            role = "skip"
        if role:
            roles[column.name] = role
    return tuple((column_letter(k), roles[name]) for k, name in enumerate(names) if name in roles)


def _judgment(element: str, column: TextColumn) -> str:
    """Return the kind of judgment in a column of answers."""
    texts = [text for text in column.texts if not is_missing(text)]
    if element == "Selector":
        return "choice"
    if len(texts) <= 2 and not any(map(str.isdecimal, texts)):
        return "binary"  # two keys or words
    return "binary" if texts and all(verdict(text) == verdict(text) for text in texts) else "rating"
