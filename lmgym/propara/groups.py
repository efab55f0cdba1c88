"""Group a file's problems and repairs by kind, each with message, count and lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lmgym.propara.check import VERBATIM
from lmgym.propara.errors import Problem, ProParaError

MAX_LISTED = 5
"""Maximum number of lines or processes listed before "and … more"."""
_COLUMNS = re.compile(r"The line has (\d+ columns?, not \d+\.)")
_MEANT = re.compile(r"Did you mean (.*\?)", re.DOTALL)
_GROUPED_CODES = {
    "process-missing": (re.compile(r"Process (-?\d+) is missing\."), "processes are missing"),
    "participant-missing": (
        re.compile(r"Process (-?\d+): participant (.*) is missing\.", re.DOTALL),
        "participants are missing",
    ),
    "participant-unexpected": (
        re.compile(r"Process (-?\d+) has no participant (.*)\.", re.DOTALL),
        "participants are not in the answers",
    ),
    "sentence-again": (
        re.compile(r"Process (-?\d+) already has sentence (-?\d+)\."),
        "sentences have a number already used in their process",
    ),
}
"""Codes whose messages differ only in names or numbers, each with a pattern for them and the message of the
group."""


class Group(NamedTuple):
    """Problems or repairs of one kind. `lines` count from 1; empty if they concern the whole file."""

    message: str
    hint: str
    n: int
    lines: tuple[int, ...]
    file: str = ""
    column: int = 0

    @property
    def place(self) -> str:
        """File, lines and column as text."""
        parts = [self.file] if self.file else []
        if self.lines:
            parts.append(f"line{'' if len(self.lines) == 1 else 's'} {abbreviated(self.lines)}")
        if self.column and self.lines:
            parts.append(f"column {self.column}")
        return ", ".join(parts)

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place else ""
        return f"{place}{self.message}" + (f" {self.hint}" if self.hint else "")

    def as_dict(self) -> dict[str, Any]:
        return {
            "where": self.place,
            "message": self.message,
            "hint": self.hint,
            "n": self.n,
            "lines": list(self.lines),
        }


def abbreviated(values: Sequence[Any]) -> str:
    """List the first MAX_LISTED values and the number of the others."""
    listed = ", ".join(map(str, values[:MAX_LISTED]))
    return listed if len(values) <= MAX_LISTED else f"{listed} and {len(values) - MAX_LISTED:,} more"


def problem_groups(problems: Iterable[Problem]) -> list[Group]:
    """Group problems by kind, in order of first occurrence."""
    groups: dict[tuple[Any, ...], list[Problem]] = {}
    for problem in problems:
        kind = () if problem.code in _GROUPED_CODES else (problem.message, problem.hint)
        groups.setdefault((problem.file, problem.code, problem.column, kind), []).append(problem)
    return [_of_problems(rows) for rows in groups.values()]


def reason(error: ProParaError) -> str:
    """Return one sentence, about the first kind of problem, that says why a file cannot be scored."""
    return next((group.message for group in problem_groups(error.problems)), str(error))


def _of_problems(rows: list[Problem]) -> Group:
    first = rows[0]
    lines = tuple(row.line for row in rows if row.line)
    hint = VERBATIM if first.code == "participant-unexpected" and len(rows) > 1 else first.hint
    return Group(_group_message(rows), hint, len(rows), lines, first.file, first.column)


def _group_message(rows: list[Problem]) -> str:
    first, n = rows[0], f"{len(rows):,}"
    if len(rows) == 1:
        return first.message
    if columns := _COLUMNS.fullmatch(first.message):
        return f"{n} lines have {columns[1]}"
    if first.code == "blank-line":
        return f"{n} lines are blank."
    if first.code in _GROUPED_CODES:
        pattern, message = _GROUPED_CODES[first.code]
        return f"{n} {message}: {abbreviated([_name_of(row, pattern) for row in rows])}."
    return f"{n} × {first.message}"


def _name_of(row: Problem, pattern: re.Pattern[str]) -> str:
    """Return the name of the process, or of the participant or sentence in it, with a suggestion if there is one."""
    match = pattern.fullmatch(row.message)
    pid, *more = match.groups() if match else (row.message,)
    suggestion = _MEANT.fullmatch(row.hint)
    return (f"{more[0]} in process {pid}" if more else pid) + (f" ({suggestion[1]})" if suggestion else "")


def repair_groups(repairs: Iterable[Any]) -> list[Group]:
    """Group repairs (`repair.Repair` or dictionaries with its fields) by kind, most frequent first."""
    lines_by_kind: dict[tuple[str, int, str], list[int]] = {}
    for repair in repairs:
        row = repair if isinstance(repair, dict) else repair._asdict()
        lines_by_kind.setdefault((row["code"], row["column"], row["message"]), []).append(row["line"])
    groups = [
        Group(message, "", len(lines), tuple(line for line in lines if line), column=column)
        for (_, column, message), lines in lines_by_kind.items()
    ]
    return sorted(groups, key=lambda group: -group.n)
