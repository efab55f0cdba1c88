"""Problems and repairs of a file, those of one kind together: what, how often, on which lines. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from lmgym.propara.check import VERBATIM
from lmgym.propara.errors import Problem, ProParaError

NAMED = 5
"""Lines and processes that are named before "and … more"."""
_COLUMNS = re.compile(r"The line has (\d+ of \d+ columns\.)")
_MEANT = re.compile(r"Did you mean (.*\?)", re.DOTALL)
_TOGETHER = {
    "process-missing": (re.compile(r"Process (-?\d+) is missing\."), "processes are missing"),
    "participant-missing": (
        re.compile(r"Process (-?\d+): participant (.*) is missing\.", re.DOTALL),
        "participants are missing",
    ),
    "participant-unexpected": (
        re.compile(r"Process (-?\d+) has no participant (.*)\.", re.DOTALL),
        "names are not those of the answers",
    ),
    "sentence-again": (
        re.compile(r"Process (-?\d+) has sentence (-?\d+) already\."),
        "sentences have a number that their process has already",
    ),
}
"""By code, what is one kind although each message names another thing: what is named, and what is said of all."""


class Group(NamedTuple):
    """`message`: of all of them together. `lines`: count from 1, and are none where the file as a whole is meant."""

    message: str
    hint: str
    n: int
    lines: tuple[int, ...]
    file: str = ""
    column: int = 0

    @property
    def place(self) -> str:
        """File, lines and column in words."""
        parts = [self.file] if self.file else []
        if self.lines:
            parts.append(f"line{'' if len(self.lines) == 1 else 's'} {several(self.lines)}")
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


def several(values: Sequence[Any]) -> str:
    """The first few, and how many more."""
    named = ", ".join(map(str, values[:NAMED]))
    return named if len(values) <= NAMED else f"{named} and {len(values) - NAMED:,} more"


def problem_groups(problems: Iterable[Problem]) -> list[Group]:
    """In the order of the first of each kind."""
    found: dict[tuple[Any, ...], list[Problem]] = {}
    for one in problems:
        kind = () if one.code in _TOGETHER else (one.message, one.hint)
        found.setdefault((one.file, one.code, one.column, kind), []).append(one)
    return [_of_problems(rows) for rows in found.values()]


def reason(error: ProParaError) -> str:
    """Why a file cannot be scored, in one sentence: the first kind of problem."""
    return next((one.message for one in problem_groups(error.problems)), str(error))


def _of_problems(rows: list[Problem]) -> Group:
    first = rows[0]
    lines = tuple(row.line for row in rows if row.line)
    hint = VERBATIM if first.code == "participant-unexpected" and len(rows) > 1 else first.hint
    return Group(_said(rows), hint, len(rows), lines, first.file, first.column)


def _said(rows: list[Problem]) -> str:
    first, n = rows[0], f"{len(rows):,}"
    if len(rows) == 1:
        return first.message
    if columns := _COLUMNS.fullmatch(first.message):
        return f"{n} lines have {columns[1]}"
    if first.code == "blank-line":
        return f"{n} lines are blank."
    if first.code in _TOGETHER:
        pattern, what = _TOGETHER[first.code]
        return f"{n} {what}: {several([_named(row, pattern) for row in rows])}."
    return f"{n} × {first.message}"


def _named(row: Problem, pattern: re.Pattern[str]) -> str:
    """The process, or what it is about in which process, with what may be meant instead."""
    found = pattern.fullmatch(row.message)
    pid, *more = found.groups() if found else (row.message,)
    meant = _MEANT.fullmatch(row.hint)
    return (f"{more[0]} in process {pid}" if more else pid) + (f" ({meant[1]})" if meant else "")


def repair_groups(repairs: Iterable[Any]) -> list[Group]:
    """Of `repair.Repair`, or their dictionaries: the most frequent first."""
    found: dict[tuple[str, int, str], list[int]] = {}
    for one in repairs:
        row = one if isinstance(one, dict) else one._asdict()
        found.setdefault((row["code"], row["column"], row["message"]), []).append(row["line"])
    groups = [
        Group(message, "", len(lines), tuple(line for line in lines if line), column=column)
        for (_, column, message), lines in found.items()
    ]
    return sorted(groups, key=lambda one: -one.n)
