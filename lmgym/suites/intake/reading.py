"""State of parsing one sheet: the user's choices, and the problems, questions and assumptions so far."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lmgym.suites.formats.documents import SuiteDocument
from lmgym.suites.formats.tables import Row, Table
from lmgym.suites.intake.parsing import CRITICAL, ROLES, Choice, ParseOptions, ParseResult, column_letter
from lmgym.text import listing
from lmgym.text.problems import Notice, Problem, Report


@dataclass(slots=True)
class Reading:
    """State of parsing one sheet.

    Attributes:
        known: suite whose names the sheet must use.
        is_part: the texts are inserted into a suite, so there are no predictions.
        item_data: data of the items, by item as in the sheet; later by item number.
    """

    options: ParseOptions
    known: SuiteDocument | None = None
    is_part: bool = False
    report: Report = field(default_factory=Report)
    result: ParseResult = field(default_factory=lambda: ParseResult("sheet"))
    item_data: dict[str, dict[str, Any]] = field(default_factory=dict)

    def say(self, sentence: str) -> None:
        """Note how the sheet was interpreted."""
        self.result.understood.append(sentence)

    def ask(self, option: str, where: str, message: str, hint: str) -> None:
        """Add a problem that an option resolves."""
        if option not in self.result.asks:
            self.result.asks += (option,)
        self.report.problem(where, message, hint)

    def choose(self, choice: Choice, where: str, message: str, hint: str) -> str:
        """Return the user's answer to a question about the whole sheet, or ask it and return "". Questions with one
        option are asked once."""
        if choice.option not in {other.option for other in self.result.choices}:
            self.result.choices.append(choice)
        answer: str = getattr(self.options, choice.option)
        if answer in dict(choice.answers):
            return answer
        self.ask(choice.option, where, message, hint)
        return ""


def at(row: Row, place: int, header: Sequence[str]) -> str:
    """Return the location of a cell: "row 4, column D (Verb)"."""
    title = f" ({header[place][:40]})" if place < len(header) and header[place] else ""
    return f"row {row.line}, column {column_letter(place)}{title}"


def text_places(table: Table) -> list[int]:
    """Return the columns of a wide table that have text."""
    others = {
        *table.data,
        *(table.roles[role] for role in ("item", "condition", CRITICAL) if role in table.roles),
    }
    return [place for place in range(len(table.header)) if place not in others]


def first_places(noun: str, numbers: Sequence[int]) -> str:
    """Name places by number: "row 3", "rows 2, 7, 9, 12 and 3 more"."""
    return f"{noun}{'' if len(numbers) == 1 else 's'} {listing(numbers, 4)}"


def hyphenated(role: str) -> str:
    return ROLES[role].replace(" ", "-")


def as_sentence(notice: Notice) -> str:
    """Format a notice as a sentence, with its place unless that is the whole file."""
    text = str(replace(notice, where="") if notice.where == "file" else notice)
    return text[:1].upper() + text[1:]


def in_rows(text: str) -> str:
    """Say “row” for “line”, which the readers of text files use."""
    return re.sub(r"\bline (?=\d)", "row ", re.sub(r"\bLine (?=\d)", "Row ", text))


def problem_in_rows(problem: Problem) -> Problem:
    """Rename lines to rows in a problem of the table readers."""
    where = "sheet" if problem.where == "file" else in_rows(problem.where)
    return Problem(where, in_rows(problem.message), problem.hint)
