"""Give all rows of a sheet the same number of cells."""

from __future__ import annotations

from collections.abc import Sequence

from lmgym.suites.formats.tables import Row
from lmgym.suites.intake.containers import filled_width
from lmgym.suites.intake.header import Headed
from lmgym.suites.intake.parsing import column_letter
from lmgym.suites.intake.reading import Reading, at, first_places
from lmgym.text import count

_TEXTS = ("text", "condition_text", "content")


def even_rows(sheet: Headed, roles: Sequence[str], reading: Reading) -> None:
    """Fill up rows that end early with empty cells, and say so. Raises FormatError for rows with surplus cells, and for
    those that end before their text."""
    width = len(roles)
    short: list[int] = []
    if len(sheet.body) > 1 and all(filled_width(row.cells) == width + 1 for row in sheet.body):
        message = f"the header has {count(width, 'heading')}, but every row has {width + 1} cells"
        hint = (
            "Name the last column. Or, if the first one has row names, as R writes them, put a heading such as “row” "
            "before the others."
        )
        reading.report.problem(f"row {sheet.head.line}", message, hint)
        reading.report.raise_problems()
    for row in sheet.body:
        cells = row.cells
        while len(cells) > width and not cells[-1].strip():
            cells.pop()
        if len(cells) > width:
            where = f"row {row.line}, column {column_letter(width)}"
            message = f"this column has no header: {count(len(cells), 'cell')}, the header has {width}"
            reading.report.problem(where, message, "Name the column or clear the cell.")
            continue
        if len(cells) < width:
            _check_text(row, sheet.names, roles, reading)
            if any(role != "skip" for role in roles[len(cells) :]):
                short.append(row.line)
            cells.extend([""] * (width - len(cells)))
    reading.report.raise_problems()
    if short:
        verb = "ends" if len(short) == 1 else "end"
        rows = f"{count(len(short), 'row')} {verb} early ({first_places('row', short)})"
        reading.say(f"{rows}: the missing cells are taken as empty.")


def _check_text(row: Row, names: Sequence[str], roles: Sequence[str], reading: Reading) -> None:
    """Report a sentence whose row ends before its text. Rows without item and condition are no sentences."""
    width = len(row.cells)
    texts = [k for k, role in enumerate(roles) if role in _TEXTS]
    fixed = [k for k, role in enumerate(roles) if role in ("item", "condition")]
    has_text = any(k < width and row.cells[k].strip() for k in texts)
    missing = next((k for k in texts if k >= width), None)
    has_others = "data" in roles or "skip" in roles
    is_aside = bool(fixed) and has_others and not any(k < width and row.cells[k].strip() for k in fixed)
    if (
        has_text or missing is None or is_aside or "condition_text" in roles
    ):  # a missing sentence is asked about
        return
    message = f"the row ends before this column: {count(width, 'cell')}, the header has {len(roles)}"
    hint = "Select the whole table when copying, empty cells included."
    reading.report.problem(at(row, missing, names), message, hint)
