"""Tables with separators, in blocks of rows, with the line of each row."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from lmgym.files.bounded import Refused, check, check_columns
from lmgym.people.intake.building import BLOCK_ROWS, TableBuilder
from lmgym.people.intake.headings import heading_role
from lmgym.people.intake.limits import LIMITS
from lmgym.people.intake.table import PeopleTable
from lmgym.suites.intake.containers import SEPARATOR, filled_width
from lmgym.text import count
from lmgym.text.problems import Report

DELIMITERS = ",\t;"
_ABOVE = 20
"""Number of rows searched for the header."""


def lines_of(text: str) -> Iterator[str]:
    """Yield lines with their ends, without a second copy of the text. Only LF ends a line."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start : end + 1]
        start = end + 1
    if start < len(text):
        yield text[start:]


def numbered_rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows that are not blank, each with the line on which it begins."""
    if "\n" not in text:
        text = text.replace("\r", "\n")
    is_bare = delimiter == "\t" and _has_bare_quotes(text)
    reader = csv.reader(
        lines_of(text), delimiter=delimiter, quoting=csv.QUOTE_NONE if is_bare else csv.QUOTE_MINIMAL
    )
    line = 1
    for cells in reader:
        if cells and (cells[0] or any(cells)):
            yield line, cells
        line = reader.line_num + 1


def _has_bare_quotes(text: str) -> bool:
    """Return whether some line has an odd number of quotation marks: words of a text, such as “"Look”, not quoting."""
    return '"' in text and any(line.count('"') % 2 for line in lines_of(text))


def header_of(rows: Sequence[Sequence[str]]) -> int:
    """Return the index of the row that names the columns: the first with two known headings, otherwise the first row
    with the most cells."""
    for place, cells in enumerate(rows):
        if sum(bool(heading_role(cell)) for cell in cells) >= 2:
            return place
    widths = [filled_width(cells) for cells in rows]
    return widths.index(max(widths)) if widths else 0


def _known(text: str, delimiter: str) -> tuple[int, int]:
    """Return the number of known headings and of cells that a delimiter gives the header."""
    try:
        rows = [cells for _, cells in islice(numbered_rows(text[:200_000], delimiter), _ABOVE)]
    except csv.Error:
        return 0, 0
    if not rows:
        return 0, 0
    header = rows[header_of(rows)]
    return sum(bool(heading_role(cell)) for cell in header), len(header)


def delimiter_of(text: str) -> str:
    """Return the delimiter that finds the most known headings, then the most columns."""
    return max(DELIMITERS, key=lambda delimiter: _known(text, delimiter))


def read_delimited(text: str, report: Report) -> PeopleTable:
    """Read a table with a header. Raises FormatError."""
    delimiter = delimiter_of(text)
    try:
        check(text, LIMITS, delimiter)
        check_columns(text.partition("\n")[0], LIMITS, delimiter)
        rows = numbered_rows(text, delimiter)
        above = list(islice(rows, _ABOVE))
        if above and SEPARATOR.fullmatch(delimiter.join(above[0][1])):
            del above[0]
        if not above:
            report.problem("file", "the file is empty")
            report.raise_problems()
        return _table(above, rows, report)
    except csv.Error as error:
        report.problem("file", f"the table is damaged: {error}", "Save it again as CSV.")
    except Refused as error:
        report.refuse(error)
    report.raise_problems()
    raise AssertionError("a problem was reported")


def _table(
    above: list[tuple[int, list[str]]], rows: Iterator[tuple[int, list[str]]], report: Report
) -> PeopleTable:
    place = header_of([cells for _, cells in above])
    header_line, header = above[place]
    if place:
        report.notice(
            "file", f"line {header_line} names the columns; the {count(place, 'row')} above it are not read"
        )
    builder = built(unique_names(header), chain(above[place + 1 :], rows), report)
    return builder.table(
        name="table", label=f"{len(builder):,} rows", reader="table", header_line=header_line
    )


def built(
    names: Sequence[str], rows: Iterable[tuple[int, list[str]]], report: Report, place: str = "line"
) -> TableBuilder:
    """Collect rows under a header. Raises FormatError for rows with more cells than the header, and for no rows."""
    builder = TableBuilder()
    rows = iter(rows)
    while block := list(islice(rows, BLOCK_ROWS)):
        lines, cells = zip(*block, strict=True)
        level = _even(cells, lines, len(names), report, place)
        report.raise_problems()
        builder.add(names, level, lines)
    if not len(builder):
        report.problem("file", "the table has a header but no rows")
        report.raise_problems()
    return builder


def unique_names(header: Sequence[str]) -> list[str]:
    """Return headings without blanks at the end; repeated and empty ones get the number of their column."""
    cells = [cell.strip()[:200] for cell in header]
    while cells and not cells[-1]:
        cells.pop()
    names: dict[str, None] = {}
    for k, cell in enumerate(cells, start=1):
        names[cell if cell and cell not in names else f"{cell or 'column'} ({k})"] = None
    return list(names)


def _even(
    rows: Sequence[list[str]], lines: Sequence[int], width: int, report: Report, place: str
) -> Sequence[list[str]]:
    """Fill up short rows with empty cells, and report rows with more cells than the header."""
    if all(len(cells) == width for cells in rows):
        return rows
    level = []
    for cells, line in zip(rows, lines, strict=True):
        if len(cells) > width and any(cell.strip() for cell in cells[width:]):
            message = f"{count(len(cells), 'cell')}, but the header has {width}"
            report.problem(f"{place} {line}", message, "Put a text with the separator in quotation marks.")
        level.append((cells + [""] * width)[:width])
    return level
