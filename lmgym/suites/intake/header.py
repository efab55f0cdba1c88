"""Find the row that names the columns; titles and remarks may stand above it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lmgym.suites.formats.documents import MAX_REGIONS
from lmgym.suites.formats.tables import Row
from lmgym.suites.headings import ROLE_NAMES, pair_of, roles_of
from lmgym.suites.intake.containers import Grid, filled_width
from lmgym.suites.intake.parsing import SAMPLE
from lmgym.suites.intake.reading import Reading
from lmgym.text import count, unguard

MAX_ABOVE = 20
"""Number of rows that are searched for the header."""
_SAMPLED = 50


@dataclass(slots=True)
class Headed:
    """A sheet with its header split off.

    Attributes:
        head: row of the header; without one, a row of empty cells.
        names: headings, trimmed; empty ones at the end are dropped.
        body: the other rows.
    """

    head: Row
    names: list[str]
    body: list[Row]

    @property
    def width(self) -> int:
        return max(len(self.names), max((len(row.cells) for row in self.body), default=0))

    def columns(self, rows: int | None = None) -> list[list[str]]:
        """Return the trimmed cells of each column, in all rows of the body or the first `rows`."""
        body = self.body[:rows]
        width = max(len(self.names), max((len(row.cells) for row in body), default=0))
        return [
            [unguard(row.cells[k]).strip() if k < len(row.cells) else "" for row in body]
            for k in range(width)
        ]


def split_header(grid: Grid, reading: Reading) -> Headed:
    """Split off the row that names the columns: the one the user chose, otherwise the one that is found. Rows above it
    and repetitions of it are dropped."""
    rows, option, result = grid.rows, reading.options.header, reading.result
    width = min(max(len(row.cells) for row in rows[:SAMPLE]), MAX_REGIONS)
    result.preview = [[cell[:60] for cell in (row.cells + [""] * width)[:width]] for row in rows[:SAMPLE]]
    result.preview_rows = [row.line for row in rows[:SAMPLE]]
    if grid.is_named:
        return _headed(rows[0], rows[1:])
    if option == "no":
        return without_header(rows, reading)
    result.has_header = True
    place = _chosen(rows, option, reading) if option.isdecimal() else find_header(rows)
    if place:
        above = "The row above it is" if place == 1 else f"The {place} rows above it are"
        reading.say(f"Row {rows[place].line} names the columns. {above} not read.")
    result.header_row = rows[place].line
    body = [row for row in rows[place + 1 :] if row.cells != rows[place].cells]
    if n_repeated := len(rows) - place - 1 - len(body):
        reading.say(f"{count(n_repeated, 'row')} that repeated the headings: not read.")
    return _headed(_with_row_names(rows[place], body, reading), body)


def _with_row_names(head: Row, body: Sequence[Row], reading: Reading) -> Row:
    """Return the header with an empty heading before the first one, if every row has one cell more and begins with a
    number of its own: R writes row names in this way. The cells that then stand under the heading of the items must be
    numbers, too; otherwise the last column lacks its heading."""
    width = filled_width(head.cells)
    if len(body) < 2 or {len(row.cells) for row in body} != {width + 1}:
        return head
    roles = ["item", *roles_of([unguard(cell) for cell in head.cells])]
    numbers = [row.cells[k].strip() for row in body for k, role in enumerate(roles) if role == "item"]
    if len({row.cells[0].strip() for row in body}) < len(body) or not all(map(str.isdecimal, numbers)):
        return head
    reading.say(
        "Every row has one cell more than the header and begins with a number of its own, as row names of R: the first "
        "column has no heading."
    )
    return Row(head.line, ["", *head.cells])


def without_header(rows: list[Row], reading: Reading) -> Headed:
    """Read every row as data: columns have no names."""
    reading.result.has_header = False
    width = max(len(row.cells) for row in rows)
    names = [""] * min(width, MAX_REGIONS + len(ROLE_NAMES))
    return Headed(Row(rows[0].line, list(names)), names, rows)


def _headed(head: Row, body: list[Row]) -> Headed:
    names = [unguard(cell).strip() for cell in head.cells]
    while names and not names[-1]:
        names.pop()
    return Headed(head, names, body)


def _chosen(rows: Sequence[Row], option: str, reading: Reading) -> int:
    number = int(option[:9])
    for place, row in enumerate(rows):
        if row.line == number:
            return place
    reading.ask(
        "header", "sheet", f"row {number} is empty or does not exist", "Choose the row with the headings."
    )
    reading.report.raise_problems()
    return 0


def find_header(rows: Sequence[Row]) -> int:
    """Return the index of the row that names the columns.

    That is the first row that names the item and condition columns or a pair of sentences. Otherwise, if the first row
    is at most half as wide as rows usually are, it is a title, and the first row of at least the usual width is the
    header.
    """
    for place, row in enumerate(rows[:MAX_ABOVE]):
        headings = [unguard(cell) for cell in row.cells]
        if {"item", "condition"} <= set(roles_of(headings)) or pair_of(headings):
            return place
    widths = [filled_width(row.cells) for row in rows[:_SAMPLED]]
    usual = Counter(widths).most_common(1)[0][0]
    if 2 * widths[0] <= usual and len(rows) > 2:
        return next((k for k, width in enumerate(widths[:MAX_ABOVE]) if width >= usual), 0)
    return 0
