"""Find the surprisal column of a table and its unit: as the title states, or as the user chose.

Of several columns, one in bits is preferred. A unit is never guessed from a title that states none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lmgym.runs.uploaded.table import Row, Table, plain
from lmgym.runs.uploaded.units import AUTO, FACTORS, IN_WORDS, ValueName, value_name
from lmgym.text import listing, unguard
from lmgym.text.problems import Report

_SAME = 1e-3
"""Tolerance for equality of numbers that are rounded to four or more digits."""
_ENOUGH = 3
"""Rows with distinct values needed before a ratio of columns is meaningful."""
_RATIOS = {"nats": FACTORS["nats"], "powers of ten": FACTORS["log10"]}


@dataclass(frozen=True, slots=True)
class ValueColumn:
    """A column that may hold the surprisals; `factor` converts its numbers to bits."""

    place: int
    title: str
    name: ValueName
    unit: str

    @property
    def factor(self) -> float:
        sign = -1 if self.name.role == "log probability" else 1
        return sign * FACTORS[self.unit or "bits"]

    def bits(self, row: Row, report: Report) -> float | None:
        """Return the surprisal in bits; None for an empty cell, or for a malformed one (a problem is
        reported)."""
        text = unguard(row.cells[self.place]).strip()
        if not text:
            return None
        what = self.name.role if self.name.role == "log probability" else "surprisal"
        try:
            number = float(text)
        except ValueError:
            report.problem(row.where, f"the {what} is “{text[:40]}”", "Write a number such as 12.3456.")
            return None
        value = number * self.factor + 0.0  # avoid -0.0
        if not math.isfinite(value):
            hint = "Leave the cell empty when there is no value."
            report.problem(row.where, f"the {what} is “{text[:40]}”, which is not a finite number", hint)
            return None
        if what == "log probability" and number > 0:
            hint = "Log probabilities are at most 0. If these are surprisals, name the column surprisal plus its unit."
            report.problem(row.where, f"the {what} is “{text[:40]}”", hint)
            return None
        return value


def has_values(header: Sequence[str]) -> bool:
    """Return whether any column may hold surprisals."""
    return any(value_name(title) for title in header)


def stated_unit(table: Table) -> str:
    """Return "bits" for a table exported by this program (it has a column `score_kind`), else an empty
    string."""
    return "bits" if "score_kind" in map(plain, table.header) else ""


def value_column(
    table: Table, unit: str, report: Report, *, defined: str = "", stated: str = ""
) -> ValueColumn:
    """Choose the column to read; notices and warnings describe the others. Raises `FormatError`.

    Args:
        defined: unit of titles that state none, if the file format defines one; the user may override it.
        stated: unit of such titles, if the file states it elsewhere.
    """
    named = [(place, title, value_name(title)) for place, title in enumerate(table.header)]
    columns = [
        ValueColumn(place, title, name, name.unit or stated or (defined if unit == AUTO else ""))
        for place, title, name in named
        if name is not None
    ]
    column = _only(_matching(columns, unit, table, report), table, report)
    if column.unit != "bits" or column.name.role == "log probability":
        message = f"the column “{column.title[:40]}” holds {_plural(column)} in {IN_WORDS[column.unit]}"
        report.notice("file", f"{message}: converted to surprisals in bits")
    others = [other for other in columns if other.place != column.place and other.name.role != "value"]
    if others:
        names = listing([f"“{other.title[:40]}”" for other in others])
        unread = f"{names} {'is' if len(others) == 1 else 'are'} ignored"
        report.notice("file", f"of several columns, “{column.title[:40]}” is used; {unread}")
    _check_others(column, others, table, report)
    return column


def _plural(column: ValueColumn) -> str:
    return "log probabilities" if column.name.role == "log probability" else "surprisals"


def _matching(columns: list[ValueColumn], unit: str, table: Table, report: Report) -> list[ValueColumn]:
    """Return columns in the chosen unit, with that unit. Titles that name surprisals take precedence over generic
    ones."""
    if not columns:
        titles = listing([f"“{title[:40]}”" for title in table.header], 12)
        hint = "Name it surprisal_bits, surprisal_nats or surprisal_log10."
        report.problem(f"line {table.line}", f"the header has no column of surprisals; it has {titles}", hint)
        report.raise_problems()
    columns = [column for column in columns if column.name.role != "value"] or columns
    units = FACTORS if unit == AUTO else (unit,)
    matches = next((same for candidate in units if (same := [c for c in columns if c.unit == candidate])), [])
    if matches:
        return matches
    names = listing([f"“{column.title[:40]}”" for column in columns])
    if unit == AUTO:
        message = f"the file does not state the unit of {names}"
        hint = "Choose the unit of surprisals: bits, nats or log10 (page: About the file; API: unit; command: --unit)."
        report.problem(f"line {table.line}", message, hint)
    elif all(column.unit for column in columns):
        stated = listing([IN_WORDS[name] for name in dict.fromkeys(column.unit for column in columns)])
        message = f"the file states {stated} for {names}, but the chosen unit is {IN_WORDS[unit]}"
        report.problem(f"line {table.line}", message, "Choose “as the file states” (unit=auto).")
    report.raise_problems()
    return [ValueColumn(c.place, c.title, c.name, unit) for c in columns if not c.unit]


def _only(columns: list[ValueColumn], table: Table, report: Report) -> ValueColumn:
    """Return the only column, or the first of several with equal values."""
    first, *others = columns
    if differ := [other for other in others if _first_difference(first, other, table)]:
        names = listing([f"“{column.title[:40]}”" for column in (first, *differ)])
        message = f"{names} could each be the surprisal, but they differ"
        report.problem(f"line {table.line}", message, "Keep only one of them.")
        report.raise_problems()
    return first


def _check_others(column: ValueColumn, others: list[ValueColumn], table: Table, report: Report) -> None:
    """Warn if other columns contradict the unit."""
    for other in others:
        if other.name.unit and (row := _first_difference(column, other, table)):
            message = (
                f"“{column.title[:40]}” and “{other.title[:40]}” are not the same surprisals in two units"
            )
            report.warning(row.where, message)
    stated = {column.place, *(other.place for other in others if other.name.unit)}
    for place, title in enumerate(table.header):
        if place in stated:
            continue
        for unit, ratio in _RATIOS.items():
            if _is_multiple(column, place, ratio, table):
                report.warning(
                    "file",
                    f"“{title[:40]}” is {ratio:.4f} times “{column.title[:40]}”, which is the ratio of bits to {unit}: "
                    f"the surprisals read as bits look like {unit}",
                )


def _first_difference(one: ValueColumn, other: ValueColumn, table: Table) -> Row | None:
    for row in table.rows:
        a, b = (_number(row, column.place) for column in (one, other))
        if a is not None and b is not None and not _same(a * one.factor, b * other.factor):
            return row
    return None


def _is_multiple(column: ValueColumn, place: int, ratio: float, table: Table) -> bool:
    """Return whether column `place` is the surprisal column times `ratio` in every row, with several distinct values.
    Stops at the first mismatch.
    """
    seen: set[float] = set()
    for row in table.rows:
        a, b = _number(row, column.place), _number(row, place)
        if b is None and row.cells[place].strip():
            return False
        if a is None or b is None:
            continue
        if not _same(a * column.factor * ratio, b):
            return False
        if a:
            seen.add(a)
    return len(seen) >= _ENOUGH


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_SAME, abs_tol=_SAME)


def _number(row: Row, place: int) -> float | None:
    try:
        value = float(unguard(row.cells[place]))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
