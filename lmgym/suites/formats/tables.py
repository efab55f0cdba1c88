"""Read suites from tables: the long CSV of the SyntaxGym site, and the wide form of spreadsheets.

Long: `item_number,condition_name,region_number,region_name,content`, one row per region.
Wide: `item`, `condition`, then one column per region; one row per sentence.
The header shows whether comma, semicolon or tab separates cells. Neither form has predictions.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath
from typing import Any

from lmgym.files.bounded import Refused, check, check_columns
from lmgym.suites.formats.assemble import (
    RawRegion,
    RawSentence,
    assemble,
    check_name_length,
    clean_name,
    region_names,
)
from lmgym.suites.formats.documents import (
    LIMITS,
    MAX_BYTES,
    MAX_CELL_CHARACTERS,
    MAX_CELLS,
    MAX_ITEM_NUMBER,
    MAX_NAME_CHARACTERS,
    MAX_REGIONS,
    MAX_SENTENCES,
    SuiteDocument,
)
from lmgym.text import CONTROL, count, decode, listing, quoted, unguard
from lmgym.text.problems import Report

UNTITLED = "Untitled suite"
"""Name of a suite whose table has none, such as pasted text."""
DELIMITERS = (",", "\t", ";")
DATA = "data"
"""Key in `SentenceDoc.extra` of a table's item data, a map of heading to cell."""
DATA_PREFIX = "data_"
"""Beginning of the headings of item data in tables that LM Gym writes."""
REGION_PREFIX = "region: "
"""Beginning of headings of regions that would be taken for something else, in wide tables that LM Gym writes."""
_COLUMNS = {
    "item": ("item_number", "item", "item_no", "itemnumber", "item_id"),
    "condition": ("condition_name", "condition", "conditionname", "cond"),
    "region": ("region_number", "region_no", "regionnumber", "region_id"),
    "name": ("region_name", "regionname"),
    "content": ("content", "text", "region_content"),
}
_ROLES = {name: role for role, names in _COLUMNS.items() for name in names}
_NUMBER = re.compile(r"[0-9]{1,9}\Z")
_LONG_HEADER = "item_number,condition_name,region_number,region_name,content"
_LONG_HINT = f"A long table begins with {_LONG_HEADER}."
_HEADER_HINT = (
    f"A long table begins with {_LONG_HEADER}; a wide one with item, condition and the names of regions."
)


@dataclass(slots=True)
class Row:
    """One record of a table. `line` is the number of its first line, from 1."""

    line: int
    cells: list[str]

    @property
    def where(self) -> str:
        """Location in messages: "line 17"."""
        return f"line {self.line}"


@dataclass(slots=True)
class Table:
    """A table.

    Attributes:
        line: line number of the header.
        roles: role to column index (the first column of that name).
        data: columns of item data, which are kept with the sentences; their headings are unique.
    """

    line: int
    header: list[str]
    roles: dict[str, int]
    rows: list[Row]
    data: tuple[int, ...] = ()

    @property
    def where(self) -> str:
        """Location of the header in messages."""
        return f"line {self.line}"

    @property
    def is_long(self) -> bool:
        """Whether the table has one row per region instead of one per sentence."""
        has_region_column = "region" in self.roles or "name" in self.roles
        return has_region_column or ("content" in self.roles and len(self.header) == 3 + len(self.data))


def read_long_csv(data: bytes, name: str = "") -> SuiteDocument:
    """Read a long table (comma, semicolon or tab). Unknown columns are kept in `extra` of the sentences.

    Args:
        name: name of the suite, which tables do not have.

    Raises:
        FormatError: problems name the line.
    """
    report = Report()
    return read_long_table(parse_table(decode(data, report, MAX_BYTES), report), name, report)


def read_wide_table(data: bytes, name: str = "") -> SuiteDocument:
    """Read a wide table (comma, semicolon or tab): `item`, `condition`, then one column per region, in order.

    Args:
        name: name of the suite, which tables do not have.

    Raises:
        FormatError: problems name the line.
    """
    report = Report()
    return read_wide(parse_table(decode(data, report, MAX_BYTES), report), name, report)


def parse_table(text: str, report: Report) -> Table:
    """Split text into a header and rows of equal length. Raises FormatError."""
    check_table(text, report)
    bad = CONTROL.search(text)
    if bad:
        line = len(re.findall(r"\r\n|\r|\n", text[: bad.start()])) + 1
        message = f"control character U+{ord(bad[0]):04X}"
        report.problem(f"line {line}", message, "Remove it; it often results from a wrong encoding.")
    report.raise_problems()
    rows = _records(text, report)
    report.raise_problems()
    if not rows:
        report.problem("file", "the table has no header", _HEADER_HINT)
    report.raise_problems()
    header = [cell.strip() for cell in rows[0].cells]
    while header and not header[-1]:
        header.pop()
    roles = _find_roles(header)
    if "item" not in roles or "condition" not in roles:
        headings = listing([f"“{cell[:40]}”" for cell in header], 8) or "nothing"
        message = f"the header needs a column for items and one for conditions, but has {headings}"
        report.problem(rows[0].where, message, _HEADER_HINT)
    body = rows[1:]
    data, header = data_places(header), list(map(region_name, header))
    table = Table(rows[0].line, header, roles, body, data)
    most, what = (MAX_CELLS, "regions in all") if table.is_long else (MAX_SENTENCES, "sentences")
    if len(body) > most:
        report.problem("file", f"{len(body):,} {what}; at most {most:,} are allowed", "Split the suite.")
        report.raise_problems()
    _check_lengths(body, len(header), report)
    if not body:
        report.problem("file", "the table has a header but no rows")
    report.raise_problems()
    return table


def data_places(header: Sequence[str]) -> tuple[int, ...]:
    """Return the columns whose headings begin with DATA_PREFIX."""
    return tuple(k for k, title in enumerate(header) if data_name(title) != unguard(title).strip())


def data_name(title: str) -> str:
    """Return the name of item data from a heading, without DATA_PREFIX."""
    name = unguard(title).strip()
    return name.removeprefix(DATA_PREFIX) or name


def region_name(title: str) -> str:
    """Return a heading without REGION_PREFIX."""
    return title.removeprefix(REGION_PREFIX)


def _data_of(table: Table, row: Row) -> dict[str, Any]:
    """Return `extra` of a row's sentence."""
    data = {data_name(table.header[k]): cell for k in table.data if (cell := unguard(row.cells[k]))}
    return {DATA: data} if data else {}


def check_table(text: str, report: Report) -> None:
    """Raise FormatError for too many lines or cells, before the text is split."""
    try:
        check(text, LIMITS, "".join(DELIMITERS))
        check_columns(_preamble(io.StringIO(text))[1], LIMITS, "".join(DELIMITERS))
    except Refused as error:
        report.refuse(error)


def _preamble(stream: io.StringIO) -> tuple[int, str]:
    """Return the number of lines before the header (blank, or Excel's `sep=;`), and the first line of the header."""
    for skipped, line in enumerate(stream):
        if line.strip() and not re.fullmatch(r'"?sep=.?"?\s*', line, re.IGNORECASE):
            return skipped, line
    return 0, ""


def _sniff(line: str) -> str:
    """Choose the delimiter that gives the most known columns, then the most columns."""

    def score(delimiter: str) -> tuple[int, int]:
        try:
            header = next(csv.reader([line], delimiter=delimiter))
        except (csv.Error, StopIteration):
            return 0, 0
        return len(_find_roles([cell.strip() for cell in header])), len(header)

    return max(DELIMITERS, key=score)


def _find_roles(header: list[str]) -> dict[str, int]:
    roles: dict[str, int] = {}
    for index, cell in enumerate(header):
        role = _ROLES.get(re.sub(r"[\s\-.]+", "_", unguard(cell).strip().lower()))
        if role is not None:
            roles.setdefault(role, index)
    return roles


def _records(text: str, report: Report) -> list[Row]:
    """List records that are not blank, with their first line; quoted cells may span lines."""
    stream = io.StringIO(text, newline="")
    skipped, first = _preamble(stream)
    rows: list[Row] = []
    delimiter = _sniff(first)
    reader = csv.reader(chain([first], stream), delimiter=delimiter, strict=True)
    begin = 1
    try:
        for record in reader:
            if any(cell.strip() for cell in record):
                rows.append(Row(begin + skipped, record))
            begin = reader.line_num + 1
    except csv.Error as error:
        message = f"the row cannot be read: {error}"
        hint = "A cell that begins with a quotation mark must end with one; double quotation marks inside it."
        report.problem(f"line {begin + skipped}", message, hint)
    check_quotes(rows, delimiter, report)
    return rows


def check_quotes(rows: Sequence[Row], delimiter: str, report: Report) -> None:
    """Report cells that hold whole rows, because the quotation mark that opens them is closed rows later, or never. A
    line of a cell is a row if it has as many cells, and one of the first two is also in that column elsewhere."""
    widths = Counter(len(row.cells) for row in rows if len(row.cells) > 2)
    usual = widths.most_common(1)[0][0] if widths else 0
    first_two = {(k, cell.strip()) for row in rows for k, cell in enumerate(row.cells[:2])}
    for row in rows:
        for cell in row.cells:
            lines = [line.split(delimiter) for line in cell.splitlines()[1:]]
            held = [line for line in lines if len(line) >= usual > 0 and all(map(str.strip, line[:2]))]
            if any((k, line[k].strip()) in first_two for line in held for k in (0, 1)):
                shown = quoted(" ".join(cell[:60].split()))
                message = f"a quotation mark joins this row and others into one cell: {shown}"
                hint = "Delete the quotation mark, or quote the whole cell and double the marks inside it."
                report.problem(row.where, message, hint)


def _check_lengths(rows: list[Row], width: int, report: Report) -> None:
    for row in rows:
        while len(row.cells) > width and not row.cells[-1].strip():
            row.cells.pop()
        if len(row.cells) != width:
            message = f"{count(len(row.cells), 'cell')}, but the header has {width}"
            quote = "Put a cell that contains the separator in quotation marks."
            report.problem(row.where, message, quote if len(row.cells) > width else "Add the missing cells.")
        longest = max((len(cell) for cell in row.cells), default=0)
        if longest > MAX_CELL_CHARACTERS:
            message = f"a cell has {longest:,} characters; at most {MAX_CELL_CHARACTERS:,} are allowed"
            report.problem(row.where, message)


def _number(row: Row, column: int, what: str, most: int, report: Report) -> int | None:
    text = row.cells[column].strip()
    if _NUMBER.match(text) and int(text) <= most:
        return int(text)
    shown = f"“{text[:40]}”" if text else "empty"
    report.problem(row.where, f"the {what} is {shown}", f"Write a whole number of at most {most:,}.")
    return None


def _condition(row: Row, column: int, report: Report) -> str:
    name = clean_name(unguard(row.cells[column]))
    if not name:
        report.problem(row.where, "the condition has no name", "Fill in the condition's name in every row.")
    elif "%" in name:
        hint = "Rename it: % encloses condition names in formulas."
        report.problem(row.where, f"the condition “{name[:40]}” contains a % sign", hint)
    check_name_length(name, row.where, "condition", report)
    return name


def read_long_table(table: Table, name: str, report: Report) -> SuiteDocument:
    """Build a suite from a parsed long table. Raises FormatError."""
    required = {"region": "region_number", "content": "content"}
    missing = [column for role, column in required.items() if role not in table.roles]
    if missing:
        message = f"the header has no column {' or '.join(missing)}"
        report.problem(table.where, message, _LONG_HINT)
    report.raise_problems()
    used = {*table.roles.values(), *table.data}
    others = [(k, title or f"column {k + 1}") for k, title in enumerate(table.header) if k not in used]
    if others:
        columns = "column" if len(others) == 1 else "columns"
        message = f"unknown {columns} kept as extra data: {listing([title for _, title in others])}"
        report.notice(table.where, message)
    sentences: dict[tuple[int, str], RawSentence] = {}
    names: dict[int, tuple[str, int]] = {}
    for row in table.rows:
        item = _number(row, table.roles["item"], "item number", MAX_ITEM_NUMBER, report)
        region = _number(row, table.roles["region"], "region number", MAX_REGIONS, report)
        condition = _condition(row, table.roles["condition"], report)
        if item is None or region is None or not condition:
            continue
        _note_name(row, table.roles.get("name"), region, names, report)
        extra = {title: row.cells[k] for k, title in others if row.cells[k]}
        cell = RawRegion(row.where, region, unguard(row.cells[table.roles["content"]]), extra)
        sentence = RawSentence(row.where, row.where, item, condition, [], _data_of(table, row))
        sentences.setdefault((item, condition), sentence).regions.append(cell)
    declared = region_names({k: title for k, (title, _) in names.items()}, "file", report) if names else None
    if "name" not in table.roles:
        report.notice(table.where, "no region names; regions are called “Region 1” and so on")
    return _document(list(sentences.values()), declared, name, report)


def _note_name(
    row: Row, column: int | None, region: int, names: dict[int, tuple[str, int]], report: Report
) -> None:
    """Check that a region number always has the same name; an empty cell repeats it."""
    name = "" if column is None else clean_name(unguard(row.cells[column]))
    check_name_length(name, row.where, "region name", report)
    known, line = names.get(region, ("", row.line))
    if name and known and name != known:
        message = f"region {region} is called “{name[:40]}” here, but “{known[:40]}” in line {line}"
        report.problem(row.where, message, "Use one name for each region.")
    elif not known:
        names[region] = (name, row.line)


def read_wide(table: Table, name: str, report: Report) -> SuiteDocument:
    """Build a suite from a parsed wide table. Raises FormatError."""
    fixed = (table.roles["item"], table.roles["condition"])
    columns = [k for k in range(len(table.header)) if k not in fixed and k not in table.data]
    if not columns:
        report.problem(table.where, "the header has no region columns", _HEADER_HINT)
    names = {number: unguard(table.header[k]) for number, k in enumerate(columns, start=1)}
    for title in names.values():
        check_name_length(title, table.where, "region name", report)
    declared = region_names(names, table.where, report)
    report.raise_problems()
    raws: list[RawSentence] = []
    for row in table.rows:
        item = _number(row, fixed[0], "item number", MAX_ITEM_NUMBER, report)
        condition = _condition(row, fixed[1], report)
        if item is None or not condition:
            continue
        cells = [RawRegion(row.where, n, unguard(row.cells[k])) for n, k in enumerate(columns, start=1)]
        raws.append(RawSentence(row.where, row.where, item, condition, cells, _data_of(table, row)))
    return _document(raws, declared, name, report)


def _document(raws: list[RawSentence], names: list[str] | None, name: str, report: Report) -> SuiteDocument:
    assembled = assemble(raws, names, report)
    report.raise_problems()
    report.notice("file", "a table has no predictions and no metric; the metric is “sum”")
    printable = "".join(character for character in name if character.isprintable())
    title = printable.strip()[:MAX_NAME_CHARACTERS].strip()
    if not title:
        title = UNTITLED
        report.notice("file", f"a table has no name; the suite is called “{title}”")
    return SuiteDocument(
        name=title,
        metric="sum",
        meta={},
        region_names=assembled.region_names,
        conditions=assembled.conditions,
        sentences=assembled.sentences,
        notices=tuple(report.notices),
        is_table=True,
    )


def name_from(filename: str) -> str:
    """Name the suite of a table after its file: `uploads/my_suite.csv` -> `my_suite`."""
    return PurePath(filename.replace("\\", "/")).stem
