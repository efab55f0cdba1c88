"""Split files into rows of cells: text with separators, JSON objects, sheets of workbooks.

What the cells mean is decided later, in `lmgym.suites.intake.sheets`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from lmgym.files.bounded import Refused, check
from lmgym.files.bounded import load as bounded_load
from lmgym.suites.formats.documents import LIMITS
from lmgym.suites.formats.tables import Row, check_quotes, check_table
from lmgym.suites.headings import pair_of, roles_of
from lmgym.text import CONTROL, SURROGATE, listing
from lmgym.text.json_text import load
from lmgym.text.problems import FormatError, Report

SEPARATOR = re.compile(r'"?sep=.?"?\s*', re.IGNORECASE)
"""Excel's line that declares the separator."""
SAMPLED = 100
"""Maximum number of rows used to detect the separator."""
_SUITE_KEYS = frozenset({"items", "meta", "region_meta", "predictions"})


@dataclass(slots=True)
class Record(Row):
    """A row that was an object. `values`: its values before they were formatted as cells."""

    values: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class Grid:
    """Rows of cells.

    Attributes:
        is_named: the first row has the names of the columns, because the container names them.
        understood: how the container was interpreted, as sentences.
        roles: role of each column, if the container determines them.
        is_cut: the container separates regions, so texts are not cut.
    """

    rows: list[Row]
    is_named: bool = False
    understood: list[str] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)
    is_cut: bool = False


# --- text with separators ---


def split_text(text: str, report: Report) -> Grid:
    """Split text into the cells of rows that are not blank. Raises FormatError."""
    text = text.replace("\u2028", " ").replace("\u2029", " ")
    if bad := CONTROL.search(text) or SURROGATE.search(text):
        row = text.count("\n", 0, bad.start()) + 1
        message = f"control character U+{ord(bad[0]):04X}"
        report.problem(f"row {row}", message, "Remove it; it often results from a wrong encoding.")
        report.raise_problems()
    check_table(text, report)
    delimiter = _delimiter(text)
    rows = list(_records(text, delimiter))
    check_quotes(rows, delimiter, report)
    report.raise_problems()
    return Grid(rows)


def _records(text: str, delimiter: str) -> Iterable[Row]:
    """Yield rows that are not blank, with their numbers in the sheet; a quoted cell may span lines of the text."""
    is_first = True
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for number, record in enumerate(reader, start=1):
        if not any(cell.strip() for cell in record):
            continue
        if not (is_first and SEPARATOR.fullmatch(delimiter.join(record))):
            yield Row(number, record)
        is_first = False


def _delimiter(text: str) -> str:
    """Choose the delimiter that finds a header; otherwise the one that gives the most cells in at least a third of the
    rows.

    The first line alone is not enough: it may be a title.
    """
    best, most = ",", (0, 0)
    for delimiter in "\t,;":
        try:
            rows = [row.cells for row in islice(_records(text, delimiter), SAMPLED)]
        except csv.Error:
            continue
        widths = Counter(filled_width(cells) for cells in rows)
        common = [width for width, times in widths.items() if width > 1 and 3 * times >= len(rows)]
        score = (max(map(_known_names, rows[:20]), default=0), max(common, default=0))
        if score > most:
            best, most = delimiter, score
    return best


def filled_width(cells: Sequence[str]) -> int:
    """Return the number of cells up to the last one that is not blank."""
    return max((place for place, cell in enumerate(cells, start=1) if cell.strip()), default=0)


def _known_names(cells: Sequence[str]) -> int:
    """Return 1 if a row of several cells names the item and condition columns, or a pair; otherwise 0."""
    roles = roles_of(cells) if len(cells) > 1 else []
    return int({"item", "condition"} <= set(roles) or (len(cells) > 1 and pair_of(cells) is not None))


# --- JSON objects ---


def holds_records(text: str, filename: str = "") -> bool:
    """Return whether a text is a JSON array, has one JSON object per line, is an object around a list of
    objects, or is a single object with a pair of sentences."""
    start = text.lstrip()
    if start.startswith("["):
        return True
    if not start.startswith("{"):
        return False
    if filename.lower().endswith((".jsonl", ".ndjson")):
        return True
    first, _, rest = start.partition("\n")
    if rest.lstrip().startswith("{") and first.strip() != "{":
        return True
    if any(f'"{key}"' in start for key in _SUITE_KEYS):
        return False
    try:
        root = bounded_load(start, LIMITS)
    except (ValueError, RecursionError):
        return False
    return _enclosed(root) is not None or (isinstance(root, dict) and pair_of(list(root)) is not None)


def _enclosed(root: Any) -> list[Any] | None:
    """Return the entries of an object's only list of objects, such as {"data": […]}; otherwise None."""
    lists = [value for value in root.values() if isinstance(value, list)] if isinstance(root, dict) else []
    objects = [one for one in lists if one and all(isinstance(entry, dict) for entry in one)]
    return objects[0] if len(objects) == 1 else None


def split_records(text: str, report: Report) -> Grid:
    """Split a JSON array of objects, an object around one, or one JSON object per line, into rows. Raises FormatError.

    The columns are the keys of all objects in the order of their first occurrence; values that are not text are kept
    as JSON text.
    """
    numbered, is_array = _numbered(text, report)
    if not numbered:
        report.problem("$", "the list is empty", "A list has one object per item or sentence.")
    where, hint = (
        ("entry", "Every entry of the list is an object.")
        if is_array
        else ("line", "Every line is one JSON object.")
    )
    for number, record in numbered:
        if not isinstance(record, dict):
            report.problem(f"{where} {number}", "is not an object", hint)
    report.raise_problems()
    if all(isinstance(record.get(SCORES), dict) and record[SCORES] for _, record in numbered):
        return _multiple_choice(numbered, report)
    return rows_of_records(numbered, report)


# --- BIG-bench: a text, and the score of each continuation ---

SCORES = "target_scores"
_INPUT = "input"


def _multiple_choice(numbered: Sequence[tuple[int, dict[str, Any]]], report: Report) -> Grid:
    """Lay examples of BIG-bench out as input, choices and the number of the right choice. Raises FormatError."""
    read, undecided = [], []
    for number, record in numbered:
        scores = record[SCORES]
        if not all(isinstance(score, int | float) for score in scores.values()):
            report.problem(f"entry {number}", f"a score of “{SCORES}” is not a number", "Write 1 or 0.")
            continue
        if not isinstance(record.get(_INPUT), str):
            report.problem(
                f"entry {number}", f"“{_INPUT}” is missing or not text", "Write the text as a string."
            )
            continue
        highest = max(scores.values())
        best = [k for k, score in enumerate(scores.values(), start=1) if score == highest]
        if len(best) > 1:
            undecided.append(number)
            continue
        choices = {f"choice {k}": text for k, text in enumerate(scores, start=1)}
        laid_out = {_INPUT, SCORES, "target", "answer", *choices}
        rest = {key: value for key, value in record.items() if key not in laid_out}
        read.append((number, {_INPUT: record[_INPUT], **choices, "answer": str(best[0]), **rest}))
    report.raise_problems()
    if not read:
        message = "every example has several right choices, so none has a good and a bad text"
        report.problem("$", message, f"Give one choice of “{SCORES}” a higher score than the others.")
        report.raise_problems()
    grid = rows_of_records(read, report)
    keys = grid.rows[0].cells
    order = [
        _INPUT,
        *(f"choice {k}" for k in range(1, max(len(record[SCORES]) for _, record in numbered) + 1)),
        "answer",
    ]
    order = [key for key in order if key in keys] + [key for key in keys if key not in order]
    grid = rows_of_records(
        [(number, {key: record.get(key) for key in order}) for number, record in read], report
    )
    n_choices = order.index("answer") - 1
    grid.roles = ["text", *["condition_text"] * n_choices, "answer", *["data"] * (len(order) - n_choices - 2)]
    grid.understood = [
        "Examples of BIG-bench: the input, followed by a choice; the one with the highest score is good."
    ]
    if undecided:
        noun = "entry" if len(undecided) == 1 else "entries"
        places = f"{noun} {listing(undecided, 4)}"
        grid.understood.append(f"Examples with several right choices: not read ({places}).")
    return grid


def _numbered(text: str, report: Report) -> tuple[list[tuple[int, Any]], bool]:
    """Return the objects with their numbers (entry or line), and whether they were in a list."""
    start = text.lstrip()
    if start.startswith("["):
        return list(enumerate(load(text, report, LIMITS), start=1)), True
    if not start.partition("\n")[2].lstrip().startswith("{") and '"' in start:
        try:
            enclosed = _enclosed(load(text, Report(), LIMITS))
        except FormatError:
            enclosed = None
        if enclosed is not None:
            inner = [one["row"] if isinstance(one.get("row"), dict) else one for one in enclosed]
            return list(enumerate(inner, start=1)), True
    return _lines(text, report), False


def rows_of_records(numbered: Sequence[tuple[int, dict[str, Any]]], report: Report) -> Grid:
    """Lay objects out as rows under the keys of all of them. Raises FormatError."""
    keys: dict[str, None] = {}
    try:
        for _, record in numbered:
            keys.update(dict.fromkeys(record))
            if LIMITS.columns is not None and len(keys) > LIMITS.columns:
                raise Refused(f"more than {LIMITS.columns:,} columns", "Leave out unused keys.")
        if LIMITS.cells is not None and len(keys) * len(numbered) > LIMITS.cells:
            raise Refused(f"more than {LIMITS.cells:,} cells", "Split it into several files.")
    except Refused as error:
        report.refuse(error)
    rows: list[Row] = [Row(numbered[0][0] if numbered else 1, list(keys))] if keys else []
    for number, record in numbered:
        values = [record.get(key) for key in keys]
        rows.append(Record(number, [as_cell(value) for value in values], values))
    return Grid(rows, is_named=True)


def as_cell(value: Any) -> str:
    """Format a JSON value as a cell: text as it is, null as an empty cell, everything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _lines(text: str, report: Report) -> list[tuple[int, Any]]:
    try:
        check(text, LIMITS)
    except Refused as error:
        report.refuse(error)
    records = []
    for number, source in enumerate(text.split("\n"), start=1):
        if not source.strip():
            continue
        try:
            records.append((number, load(source, Report(), LIMITS)))
        except FormatError as error:
            report.problem(f"line {number}", error.problems[0].message, "Every line is one JSON object.")
    return records


# --- workbooks ---


def grid_of_cells(rows: Sequence[Sequence[str]]) -> Grid:
    """Return the rows of a workbook's sheet that are not blank."""
    return Grid(
        [Row(n, list(cells)) for n, cells in enumerate(rows, 1) if any(cell.strip() for cell in cells)]
    )
