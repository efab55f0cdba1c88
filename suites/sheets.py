"""Stimuli pasted from a spreadsheet, wide or long: what was understood, and what is wrong by row and column. Pure.

More forgiving than the file readers where people's sheets are: cells that were merged arrive blank below the first
and are filled, and headers go by more names. Nothing is guessed silently: `Reading.understood` says all of it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gym.lib.problems import MAX_PROBLEMS, FormatError, Notice, Problem, Report
from gym.lib.text import CONTROL, SURROGATE, count, listing, unguard
from suites.formats import read_suite
from suites.formats.documents import (
    MAX_BYTES,
    MAX_CELL_CHARACTERS,
    MAX_ITEM_NUMBER,
    MAX_REGIONS,
    MAX_SENTENCES,
    SentenceDoc,
    SuiteDocument,
)
from suites.formats.tables import Row, Table, check_table, read_long_table, read_wide

_HEADERS = {
    "item": "item items item_number item_no item_nr item_id itemnumber item_#",
    "condition": "condition conditions condition_name condition_id conditionname cond",
    "region": "region_number region_no region_nr region_id regionnumber region_# position",
    "name": "region_name regionname region",
    "content": "content contents text region_content words word string",
}
_WEAK = {"item": ("no", "nr", "number", "set", "frame"), "condition": ("type", "variant", "version")}
"""What these columns are called when nothing is called by its proper name; else they are regions."""
_ROLES = {name: role for role, names in _HEADERS.items() for name in names.split()}
_MEANING = {
    "item": "item number",
    "condition": "condition",
    "region": "region number",
    "name": "region name",
    "content": "text of the region",
}
_NUMBER = re.compile(r"[0-9]{1,9}(\.0+)?\Z")
_HEADER_HINT = (
    "The first row names the columns: item, condition, then one column per region; or, with one row per region, "
    "item_number, condition_name, region_number, region_name, content."
)
SAMPLE = 6


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the sheet and what it was taken for."""

    letter: str
    header: str
    meaning: str


@dataclass(slots=True)
class Reading:
    """What a pasted text is. `document` is None when there are problems."""

    kind: str = ""
    document: SuiteDocument | None = None
    columns: list[Column] = field(default_factory=list)
    understood: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def sample(self) -> Sequence[SentenceDoc]:
        """The first sentences, for showing."""
        return self.document.sentences[:SAMPLE] if self.document else ()


def column_letter(index: int) -> str:
    """Spreadsheet name of a column counted from 0: A, B, … Z, AA."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def read_sheet(text: str, name: str = "") -> Reading:
    """Read what was pasted: cells of a spreadsheet (tabs, commas or semicolons), or a suite's JSON. Never raises."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BYTES:
        problem = Problem(
            "sheet", f"the sheet has {len(data):,} bytes; at most {MAX_BYTES:,} are read", "Split it."
        )
        return Reading("sheet", problems=[problem])
    if text.lstrip()[:1] in ("{", "["):
        return _read_json(data, name)
    return _SheetReader(text, name).read()


def _read_json(data: bytes, name: str) -> Reading:
    reading = Reading("JSON")
    try:
        document = read_suite(data, name)
    except FormatError as error:
        reading.problems = list(error.problems)
        return reading
    reading.document = document
    reading.understood = [f"A suite as JSON: {shape(document)}.", *map(_said, document.notices)]
    return reading


def shape(document: SuiteDocument) -> str:
    """`3 items x 2 conditions x 4 regions`, in words."""
    return (
        f"{count(len(document.items), 'item')} × {count(len(document.conditions), 'condition')} × "
        f"{count(len(document.region_names), 'region')}"
    )


class _SheetReader:
    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.report = Report()
        self.reading = Reading("sheet")

    def read(self) -> Reading:
        try:
            table = self._table()
            long = table.is_long
            self.reading.kind = "long" if long else "wide"
            self._fill(table, long)
            self._check_numbers(table, long)
            self.report.raise_problems()
            document = (read_long_table if long else read_wide)(table, self.name, self.report)
        except FormatError as error:
            self.reading.problems = [_in_rows(problem) for problem in error.problems][: MAX_PROBLEMS + 1]
            return self.reading
        except csv.Error as error:
            self.reading.problems = [Problem("sheet", f"the cells cannot be told apart: {error}")]
            return self.reading
        form = "one row per region" if long else "one row per sentence, one column per region"
        notices = [notice for notice in document.notices if "no name" not in notice.message]
        self.reading.document = replace(document, notices=())
        self.reading.understood = [f"{form.capitalize()}: {shape(document)}.", *self.reading.understood]
        self.reading.understood += [_said(notice) for notice in notices]
        return self.reading

    # --- cells ---

    def _table(self) -> Table:
        text = self.text.replace("\u2028", " ").replace("\u2029", " ")
        if bad := CONTROL.search(text) or SURROGATE.search(text):
            row = text.count("\n", 0, bad.start()) + 1
            message = f"control character U+{ord(bad[0]):04X}"
            self.report.problem(
                f"row {row}", message, "Remove it; it is often the trace of a wrong encoding."
            )
            self.report.raise_problems()
        check_table(text, self.report)
        rows = _cells(text)
        if not rows:
            self.report.problem("sheet", "nothing was pasted", _HEADER_HINT)
            self.report.raise_problems()
        header = [unguard(cell).strip() for cell in rows[0].cells]
        while header and not header[-1]:
            header.pop()
        roles = self._roles(rows[0], header)
        body = rows[1:]
        if not body:
            self.report.problem("sheet", "there is a header and no rows below it")
        table = Table(rows[0].line, header, roles, body)
        self._check_amount(table)
        self.report.raise_problems()
        self._check_lengths(table)
        self.report.raise_problems()
        return table

    def _roles(self, row: Row, header: list[str]) -> dict[str, int]:
        """Which column is what; the columns that are regions are the ones that are nothing else."""
        names = [re.sub(r"[\s\-.]+", "_", cell.lower()).strip("_") for cell in header]
        found = [_ROLES.get(name, "") for name in names]
        for role, others in _WEAK.items():
            if role not in found and (name := next((name for name in names if name in others), None)):
                found[names.index(name)] = role
        long = "content" in found and ({"region", "name"} & set(found) or len(header) == 3)
        wanted = set(_HEADERS) if long else {"item", "condition"}
        roles: dict[str, int] = {}
        for place, role in enumerate(found):
            if role not in wanted:
                continue
            if role in roles:
                first = roles[role]
                message = f"column {column_letter(first)} (“{header[first]}”) is the {_MEANING[role]} already"
                self.report.problem(_at(row, place, header), message, "Rename or remove one of them.")
            roles.setdefault(role, place)
        for role in ("item", "condition"):
            if role not in roles:
                shown = listing([f"“{cell[:40]}”" for cell in header], 8) or "nothing"
                message = f"no column is the {_MEANING[role]}; the header has {shown}"
                self.report.problem(f"row {row.line}", message, _HEADER_HINT)
        self._check_regions(row, header, roles, bool(long))
        return roles

    def _check_regions(self, row: Row, header: list[str], roles: dict[str, int], long: bool) -> None:
        used = set(roles.values())
        seen: dict[str, int] = {}
        number = 0
        for place, cell in enumerate(header):
            meaning = next((_MEANING[role] for role, at in roles.items() if at == place), "")
            if place not in used and not long:
                number += 1
                meaning = f"region {number}"
                if cell and cell in seen:
                    message = f"“{cell}” is the name of column {column_letter(seen[cell])} already"
                    self.report.problem(_at(row, place, header), message, "Give every region its own name.")
                seen.setdefault(cell, place)
            self.reading.columns.append(Column(column_letter(place), cell, meaning or "kept as extra data"))
        if number > MAX_REGIONS:
            self.report.problem(f"row {row.line}", f"{number} regions; at most {MAX_REGIONS} are read")
        if not long and not number:
            self.report.problem(f"row {row.line}", "the header names no regions", _HEADER_HINT)

    def _check_amount(self, table: Table) -> None:
        """Said once, not for each of thousands of rows."""
        sentences = len(table.rows)
        if table.is_long:
            keys = [table.roles[role] for role in ("item", "condition") if role in table.roles]
            cells = {tuple(row.cells[k] if k < len(row.cells) else "" for k in keys) for row in table.rows}
            sentences = len(cells)
        if sentences > MAX_SENTENCES:
            message = f"the sheet has {sentences:,} sentences; at most {MAX_SENTENCES:,} are read"
            self.report.problem("sheet", message, "Split it into several suites.")

    def _check_lengths(self, table: Table) -> None:
        width = len(table.header)
        for row in table.rows:
            while len(row.cells) > width and not row.cells[-1].strip():
                row.cells.pop()
            if len(row.cells) < width:
                where = _at(row, len(row.cells), table.header)
                message = f"the row ends before this column: {count(len(row.cells), 'cell')}, the header has {width}"
                self.report.problem(
                    where, message, "Select the whole table when copying, empty cells included."
                )
            elif len(row.cells) > width:
                where = f"row {row.line}, column {column_letter(width)}"
                message = (
                    f"this column has no header: {count(len(row.cells), 'cell')}, the header has {width}"
                )
                self.report.problem(where, message, "Name the column, or empty the cell.")
            for place, cell in enumerate(row.cells):
                if len(cell) > MAX_CELL_CHARACTERS:
                    message = f"{len(cell):,} characters; at most {MAX_CELL_CHARACTERS:,} are read"
                    self.report.problem(_at(row, place, table.header), message)

    # --- meaning ---

    def _fill(self, table: Table, long: bool) -> None:
        """Merged cells arrive as a value and blanks below it: the item, and in long sheets the condition, go on."""
        filled: dict[str, list[int]] = {}
        last: dict[str, str] = {}
        for row in table.rows:
            for role in ("item", "condition") if long else ("item",):
                place = table.roles[role]
                given = row.cells[place].strip()
                if given:
                    if role == "item" and given != last.get("item"):
                        last.pop("condition", None)
                    last[role] = given
                elif role in last:
                    row.cells[place] = last[role]
                    filled.setdefault(role, []).append(row.line)
        for role, lines in filled.items():
            column = column_letter(table.roles[role])
            message = (
                f"Column {column} is blank in {count(len(lines), 'row')} (row {listing(lines, 4)}): merged cells, "
                f"filled with the {_MEANING[role]} above."
            )
            self.reading.understood.append(message)

    def _check_numbers(self, table: Table, long: bool) -> None:
        limits = {"item": MAX_ITEM_NUMBER, "region": MAX_REGIONS} if long else {"item": MAX_ITEM_NUMBER}
        for row in table.rows:
            for role, most in limits.items():
                place = table.roles.get(role)
                if place is None:
                    continue
                given = row.cells[place].strip()
                if _NUMBER.match(given) and int(float(given)) <= most:
                    row.cells[place] = given.split(".")[0]
                    continue
                shown = f"“{given[:40]}”" if given else "empty"
                hint = f"Write a whole number of at most {most:,}."
                self.report.problem(_at(row, place, table.header), f"the {_MEANING[role]} is {shown}", hint)
            place = table.roles["condition"]
            if not row.cells[place].strip():
                message, hint = "the condition is empty", "Fill in the condition's name in every row."
                self.report.problem(_at(row, place, table.header), message, hint)


def _cells(text: str) -> list[Row]:
    """Rows with any text, each with its number in the sheet (a quoted cell may span lines of the text)."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = "\t" if "\t" in first else max(",;", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[Row] = []
    for number, record in enumerate(reader, start=1):
        if any(cell.strip() for cell in record):
            rows.append(Row(number, record))
    return rows


def _at(row: Row, place: int, header: Sequence[str]) -> str:
    title = f" ({header[place][:40]})" if place < len(header) and header[place] else ""
    return f"row {row.line}, column {column_letter(place)}{title}"


def _said(notice: Notice) -> str:
    """A notice as a sentence; its place only where that says something."""
    place = "" if notice.where in ("file", "$") else f"{_in_rows_text(notice.where).capitalize()}: "
    message = notice.message if place else notice.message[:1].upper() + notice.message[1:]
    return f"{place}{_in_rows_text(message)}."


def _in_rows_text(text: str) -> str:
    return re.sub(r"\bline (\d)", r"row \1", text)


def _in_rows(problem: Problem) -> Problem:
    """The table readers count lines; in a sheet those are rows."""
    where = "sheet" if problem.where == "file" else _in_rows_text(problem.where)
    return Problem(where, _in_rows_text(problem.message), problem.hint)
