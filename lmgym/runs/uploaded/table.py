"""Result tables: header, rows with line numbers, and cells that are numbers or booleans."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from lmgym.files.bounded import Refused, check, check_columns
from lmgym.runs.uploaded.contents import LIMITS, MAX_ROWS
from lmgym.suites.formats.documents import MAX_CELL_CHARACTERS
from lmgym.text import count, listing, unguard
from lmgym.text.problems import Report

_NUMBER = re.compile(r"-?[0-9]{1,9}\Z")
_DELIMITERS = (",", "\t", ";")
_HEADER_LINES = 50
"""Number of lines searched for a header, because programs write a few log lines before it."""
_TRUTH = {
    "true": True,
    "1": True,
    "yes": True,
    "false": False,
    "0": False,
    "no": False,
    "1.0": True,
    "0.0": False,
}
Roles = Mapping[str, tuple[str, ...]]
"""Names that a column may have, by its role."""


@dataclass(frozen=True, slots=True)
class Header:
    """Header line of a table. `skipped`: number of lines before it; `above`: number of these lines that have
    text."""

    titles: list[str]
    skipped: int
    delimiter: str
    above: int = 0


@dataclass(slots=True)
class Row:
    line: int
    cells: list[str]

    @property
    def where(self) -> str:
        return f"line {self.line}"


@dataclass(slots=True)
class Table:
    header: list[str]
    roles: dict[str, int]
    rows: list[Row]
    line: int

    def text(self, row: Row, role: str) -> str:
        """Return the text of a cell without its spreadsheet guard; empty if there is no such column."""
        place = self.roles.get(role)
        return unguard(row.cells[place]) if place is not None else ""


def plain(title: str) -> str:
    """Normalise the title of a column: `Item Number` becomes `item_number`."""
    return re.sub(r"[\s\-.]+", "_", unguard(title).strip().lower())


def roles_of(header: list[str], roles: Roles) -> dict[str, int]:
    names = [plain(title) for title in header]
    places: dict[str, int] = {}
    for role, known in roles.items():
        place = next((names.index(name) for name in known if name in names), None)
        if place is not None:
            places[role] = place
    return places


def find_header(text: str, is_header: Callable[[list[str]], bool], report: Report) -> Header:
    """Find the first line that is a header, within _HEADER_LINES; else return the first line with text. Raises
    `FormatError`."""
    try:
        check(text, LIMITS, "".join(_DELIMITERS))
    except Refused as error:
        report.refuse(error)
    first = None
    for above, line in enumerate(islice(_lines(text, report), _HEADER_LINES)):
        if is_header(line.titles):
            return replace(line, above=above)
        first = first or line
    return first or Header([], 0, ",")


def read_table(
    text: str, roles: Roles, needed: tuple[str, ...], report: Report, *, raw: bool = False
) -> Table:
    """Read every record of a table. Raises `FormatError`. `raw`: split lines at every tab, even within
    quotation marks."""
    head = find_header(text, lambda titles: set(needed) <= set(roles_of(titles, roles)), report)
    skipped, delimiter, header = head.skipped, head.delimiter, head.titles
    places = roles_of(header, roles)
    if head.above:
        report.notice(
            "file",
            f"the header is in line {skipped + 1}; skipped {count(head.above, 'line')} of text above it",
        )
    missing = [roles[role][0] for role in needed if role not in places]
    if missing:
        titles = listing([f"“{title[:40]}”" for title in header], 12) or "nothing"
        message = f"the header lacks {' and '.join(missing)}; it has {titles}"
        report.problem(f"line {skipped + 1}", message, "See “Upload results” for supported files.")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        report.problem(f"line {line}", "the file contains a zero byte", "Save it as UTF-8 text.")
    report.raise_problems()
    body = io.StringIO(text.lstrip("\ufeff"), newline="")
    for _ in range(skipped + 1):
        body.readline()
    records = _raw_rows(body, skipped) if raw else _quoted_rows(body, delimiter, skipped, report)
    rows = _checked(records, len(header), report)
    if not rows:
        report.problem("file", "the table has a header but no rows")
    report.raise_problems()
    return Table(header, places, rows, skipped + 1)


def _lines(text: str, report: Report) -> Iterator[Header]:
    """Yield every line with text, split into cells."""
    for skipped, line in enumerate(io.StringIO(text.lstrip("\ufeff"))):
        if not line.strip() or re.fullmatch(r'"?sep=.?"?\s*', line, re.IGNORECASE):
            continue
        delimiter = max(_DELIMITERS, key=line.count)
        try:
            check_columns(line, LIMITS, delimiter)
            header = [cell.strip() for cell in next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter))]
        except Refused as error:
            report.refuse(error)
        except (csv.Error, StopIteration):
            header = []
        yield Header(header, skipped, delimiter)


def _quoted_rows(body: io.StringIO, delimiter: str, skipped: int, report: Report) -> Iterator[Row]:
    reader = csv.reader(body, delimiter=delimiter, strict=True)
    begin = skipped + 2
    try:
        for record in reader:
            yield Row(begin, record)
            begin = skipped + 2 + reader.line_num
    except csv.Error as error:
        hint = "A cell that begins with a quotation mark must end with one; double those inside."
        report.problem(f"line {begin}", f"not a readable table row: {error}", hint)


def _raw_rows(body: io.StringIO, skipped: int) -> Iterator[Row]:
    for line, record in enumerate(body, start=skipped + 2):
        yield Row(line, [_unquoted(cell) for cell in record.rstrip("\r\n").split("\t")])


def _unquoted(cell: str) -> str:
    """Undo CSV quoting of a cell in a raw file: a cell of four quotation marks is one quotation mark."""
    if len(cell) > 2 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell


def _checked(records: Iterator[Row], width: int, report: Report) -> list[Row]:
    """Return rows with text, up to the limit, checking each before the next is read."""
    rows: list[Row] = []
    for row in records:
        if not any(cell.strip() for cell in row.cells):
            continue
        if len(rows) == MAX_ROWS:
            report.problem("file", f"more than {MAX_ROWS:,} rows", "Split the file, for instance by model.")
            break
        while len(row.cells) > width and not row.cells[-1].strip():
            row.cells.pop()
        if len(row.cells) != width:
            message = f"{count(len(row.cells), 'cell')}, but the header has {width}"
            report.problem(row.where, message, "Put a cell that contains the separator in quotation marks.")
            continue
        if max(map(len, row.cells)) > MAX_CELL_CHARACTERS:
            report.problem(row.where, f"a cell has more than {MAX_CELL_CHARACTERS:,} characters")
        rows.append(row)
    return rows


def whole(table: Table, row: Row, role: str, what: str, report: Report) -> int | None:
    text = table.text(row, role).strip()
    text = text.removesuffix(".0")
    if _NUMBER.match(text):
        return int(text)
    shown = f"“{text[:40]}”" if text else "empty"
    report.problem(row.where, f"the {what} is {shown}", "Write a whole number.")
    return None


def truth(table: Table, row: Row, role: str, report: Report) -> bool | None:
    text = table.text(row, role).strip()
    value = _TRUTH.get(text.lower())
    if value is None:
        shown = f"“{text[:40]}”" if text else "empty"
        report.problem(
            row.where, f"“{table.header[table.roles[role]][:40]}” is {shown}", "Write True or False."
        )
    return value


def once(seen: dict[object, str], key: object, row: Row, what: Callable[[], str], report: Report) -> bool:
    """Return whether this is the first row with this key; report a problem if not."""
    if key in seen:
        report.problem(row.where, f"{what()} is already in {seen[key]}", "Keep one of the two rows.")
        return False
    seen[key] = row.where
    return True
