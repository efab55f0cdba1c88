"""Trials of jsPsych, as JSON or CSV, and other lists of JSON objects: one table per kind of trial.

A trial of self-paced reading holds arrays, such as `word` and `rt`: each place of the arrays becomes a row. Trials of
other kinds lack the item; that of the trial before is offered in columns of their own.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from lmgym.files.bounded import Refused, check
from lmgym.people.intake.building import BLOCK_ROWS, TableBuilder
from lmgym.people.intake.delimited import delimiter_of, lines_of, numbered_rows, unique_names
from lmgym.people.intake.headings import heading_role
from lmgym.people.intake.limits import LIMITS, MAX_KINDS, MAX_ROWS
from lmgym.people.intake.table import PeopleTable
from lmgym.suites.intake.containers import as_cell
from lmgym.suites.intake.parsing import column_letter
from lmgym.text.json_text import load
from lmgym.text.problems import FormatError, Report

KIND = "trial_type"
WORD_NUMBER = "word number (place in the arrays)"
RUN = "run (list of trials in the file)"
BEFORE = " (of the trial before)"
_CARRIED = ("item", "item_label", "condition", "sentence")
_RESPONSES = ("response", "rating", "button_pressed")

Record = Mapping[str, Any]


def is_trials(header: Iterable[str]) -> bool:
    """Whether the columns of a table are those of jsPsych."""
    names = set(header)
    return KIND in names and bool(names & {"trial_index", "time_elapsed", "internal_node_id"})


def read_json(text: str, report: Report) -> list[PeopleTable]:
    """Read objects in one array, an array per participant, or one object or array per line. Raises FormatError."""
    return _within_limits(_json_records(text, report), "jsPsych JSON", "entry", report)


def read_csv(text: str, report: Report) -> list[PeopleTable]:
    """Read trials that jsPsych wrote as CSV, with arrays as JSON in cells. Raises FormatError."""
    delimiter = delimiter_of(text)
    try:
        check(text, LIMITS, delimiter)
    except Refused as error:
        report.refuse(error)
    return _within_limits(_csv_records(text, delimiter), "jsPsych CSV", "line", report)


def read_objects(objects: Iterable[Record], reader: str, report: Report) -> list[PeopleTable]:
    """Read objects that are rows, such as those of a Parquet file. Raises FormatError."""
    return _within_limits(enumerate(objects, 1), reader, "row", report)


def _json_records(text: str, report: Report) -> Iterator[tuple[int, Record]]:
    """Yield objects, each with its number from 1; entries that are lists are the trials of a participant each."""
    root = _root(text, report)
    if isinstance(root, dict):
        lists = [value for value in root.values() if isinstance(value, list)]
        root = lists[0] if len(lists) == 1 else [root]
    number = 0
    for run, entry in enumerate(root, start=1):
        trials = entry if isinstance(entry, list) else [entry]
        for trial in trials:
            number += 1
            if not isinstance(trial, dict):
                report.problem(
                    f"entry {number}", "is not an object", "A trial is an object with named values."
                )
                continue
            yield number, {RUN: str(run), **trial} if isinstance(entry, list) else trial


def _root(text: str, report: Report) -> Any:
    """Parse one JSON value, or one per line as JATOS writes them."""
    start = text.lstrip().partition("\n")
    if not (start[0].rstrip()[-1:] in ("]", "}") and start[2].lstrip()[:1] in ("[", "{")):
        return load(text, report, LIMITS, nan_is_null=True)
    if sum(map(text.count, ",[{")) > (LIMITS.values or 0):
        report.problem("file", f"more than {LIMITS.values:,} values", "Split it into several files.")
        report.raise_problems()
    entries = []
    for number, line in enumerate(lines_of(text), start=1):
        if line.strip():
            try:
                entries.append(load(line, Report(), LIMITS, nan_is_null=True))
            except FormatError as error:
                report.problem(f"line {number}", error.problems[0].message, "Every line is one JSON value.")
    report.raise_problems()
    return entries


def _csv_records(text: str, delimiter: str) -> Iterator[tuple[int, Record]]:
    rows = numbered_rows(text, delimiter)
    names = unique_names(next(rows)[1])
    for line, cells in rows:
        yield line, {name: _value(cell) for name, cell in zip(names, cells, strict=False) if cell}


def _value(cell: str) -> Any:
    """Return a list or object in a cell of CSV; other cells are text."""
    if cell[:1] not in ("[", "{"):
        return cell
    try:
        return load(cell, Report(), LIMITS, nan_is_null=True)
    except FormatError:
        return cell


# --- tables ---


def _within_limits(
    records: Iterable[tuple[int, Record]], reader: str, place: str, report: Report
) -> list[PeopleTable]:
    """Lay records out as tables; a limit that is exceeded and a damaged table become problems."""
    tables: list[PeopleTable] = []
    try:
        tables = _tables(records, reader, place, report)
    except csv.Error as error:
        report.problem("file", f"the table is damaged: {error}", "Save it again as CSV.")
    except Refused as error:
        report.refuse(error)
    report.raise_problems()
    return tables


def _tables(
    records: Iterable[tuple[int, Record]], reader: str, place: str, report: Report
) -> list[PeopleTable]:
    kinds: dict[str, _Kind] = {}
    before: dict[str, Any] = {}
    person = ""
    n_rows = 0
    for number, record in records:
        flat = _flat(record)
        owner = as_cell(
            flat.get(RUN) or next((flat[key] for key in flat if heading_role(key) == "participant"), "")
        )
        if owner != person:
            person, before = owner, {}
        name = as_cell(flat.get(KIND, ""))[:200]
        if name not in kinds and len(kinds) >= MAX_KINDS:
            report.problem(
                "file", f"more than {MAX_KINDS} kinds of trials", "Leave out trials that are not needed."
            )
            report.raise_problems()
        carried = {key: value for key, value in flat.items() if heading_role(key) in _CARRIED}
        lacks = {f"{key}{BEFORE}": value for key, value in before.items()} if not carried else {}
        n_rows += kinds.setdefault(name, _Kind()).add(number, {**flat, **lacks}, report)
        if n_rows > MAX_ROWS:
            report.problem("file", f"more than {MAX_ROWS:,} rows", "Split the file.")
            report.raise_problems()
        if carried:
            before = {key: value for key, value in carried.items() if not isinstance(value, list)}
    report.raise_problems()
    if not n_rows:
        report.problem("file", "the list is empty")
        report.raise_problems()
    return [kind.table(name, reader, place) for name, kind in kinds.items() if len(kind)]


def _flat(record: Record) -> dict[str, Any]:
    """Lay out objects within a trial: the answers of a survey become `response.Q0`."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, str) and value[:1] == "{" and key == "responses":
            value = _value(value)
        if isinstance(value, dict):
            flat.update({f"{key}.{inner}": one for inner, one in value.items()})
        else:
            flat[key] = value
    return flat


class _Kind:
    """Rows of one kind of trial."""

    def __init__(self) -> None:
        self._builder = TableBuilder()
        self._waiting: dict[tuple[str, ...], tuple[list[int], list[list[str]]]] = {}
        self._n_waiting = 0
        self._names: dict[str, None] = {}
        self._has_arrays = False

    def __len__(self) -> int:
        return len(self._builder) + self._n_waiting

    def add(self, number: int, record: Record, report: Report) -> int:
        """Add the rows of a trial, and return their number."""
        self._names.update(dict.fromkeys(record))
        if len(self._names) > (LIMITS.columns or 0):
            report.problem("file", f"more than {LIMITS.columns} columns", "Leave out unused values.")
            report.raise_problems()
        length = _length(record)
        self._has_arrays |= length is not None
        for row in [record] if length is None else _rows(record, length):
            lines, cells = self._waiting.setdefault(tuple(row), ([], []))
            lines.append(number)
            cells.append([_cell(value) for value in row.values()])
            self._n_waiting += 1
            if self._n_waiting >= BLOCK_ROWS:
                self._flush()
        return length or 1

    def _flush(self) -> None:
        for names, (lines, cells) in self._waiting.items():
            self._builder.add(names, cells, lines)
        self._waiting.clear()
        self._n_waiting = 0

    def table(self, name: str, reader: str, place: str) -> PeopleTable:
        self._flush()
        what = f"trials “{name}”" if name else "rows"
        label = f"{what} ({len(self._builder):,} rows)"
        table = self._builder.table(
            lambda text: text, name=name or "rows", label=label, reader=reader, place=place
        )
        return replace(table, roles=self._roles(table)) if name else table

    def _roles(self, table: PeopleTable) -> tuple[tuple[str, str], ...]:
        """Return the roles that jsPsych determines: the time of a trial without arrays is no reading time."""
        names = [column.name for column in table.columns]
        fixed = {KIND: "skip", "time_elapsed": "skip", "internal_node_id": "skip", WORD_NUMBER: "word"}
        if not self._has_arrays and any(name.split(".")[0] in _RESPONSES for name in names):
            fixed["rt"] = "skip"
        if self._has_arrays and "rt" in names:
            fixed |= {"rt": "rt_ms", "rt_total": "skip"}
        return tuple((column_letter(k), fixed[name]) for k, name in enumerate(names) if name in fixed)


def _cell(value: Any) -> str:
    return "1" if value is True else "0" if value is False else as_cell(value)


def _length(record: Record) -> int | None:
    """Return the length of a trial's arrays of times; None without one."""
    times = [
        len(value)
        for key, value in record.items()
        if isinstance(value, list) and value and heading_role(key) == "rt_ms" and all(map(_is_number, value))
    ]
    return Counter(times).most_common(1)[0][0] if times else None


def _rows(record: Record, length: int) -> Iterator[Record]:
    """Yield one row per place of a trial's arrays; arrays of another length are repeated as JSON."""
    laid_out = {
        key: value for key, value in record.items() if isinstance(value, list) and len(value) == length
    }
    rest = {key: _cell(value) for key, value in record.items() if key not in laid_out}
    for k in range(length):
        yield {**rest, **{key: value[k] for key, value in laid_out.items()}, WORD_NUMBER: str(k + 1)}


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
