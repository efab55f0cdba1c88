"""State of matching a table: problems, questions, notices and rows that are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lmgym.people.intake.table import PeopleTable
from lmgym.suites.formats.documents import SuiteDocument
from lmgym.suites.intake.questions import Question
from lmgym.text import count, listing
from lmgym.text.problems import Report

NAMED = 8
"""Number of lines that a message names."""


@dataclass
class Matching:
    """State of matching a table to a suite.

    Attributes:
        keep: bool[n_rows], rows that are not left out so far.
        left_out: number of rows by reason.
    """

    table: PeopleTable
    roles: Mapping[str, str]
    document: SuiteDocument
    answers: Mapping[str, str]
    keep: NDArray[np.bool_]
    report: Report = field(default_factory=Report)
    questions: list[Question] = field(default_factory=list)
    asks: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def leave_out(self, rows: NDArray[np.bool_], reason: str) -> None:
        """Leave rows out, unless they are left out already."""
        dropped = rows & self.keep
        if n := int(dropped.sum()):
            self.left_out[reason] = self.left_out.get(reason, 0) + n
            self.keep = self.keep & ~rows

    def ask(self, question: Question, where: str, message: str, hint: str) -> str:
        """Return the answer to a question; without one, add the problem that it would solve and return ""."""
        if answer := self._answer(question):
            return answer
        self.asks.append(question.name)
        self.report.problem(where, message, hint)
        return ""

    def offer(self, question: Question) -> str:
        """Return the answer to a question that need not be answered, otherwise what it proposes."""
        return self._answer(question) or question.proposed

    def _answer(self, question: Question) -> str:
        """List a question, with its answer as the default of the form, and return the answer or ""."""
        answer = self.answers.get(question.name, "")
        answer = answer if answer in question.choices else ""
        self.questions.append(replace(question, proposed=answer or question.proposed))
        return answer

    def where(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> str:
        """Name the lines of rows: "lines 3, 7 and 12 more"."""
        lines = np.unique(self.table.lines[rows]).tolist()
        return f"{self.table.place}{'s' if len(lines) > 1 else ''} {listing(lines, NAMED)}"

    def rows(self, n: int) -> str:
        """Count rows: "3 rows"."""
        return count(n, "row").replace(str(n), f"{n:,}", 1)

    def examples(self, texts: Sequence[str]) -> str:
        return listing([f"“{text[:40]}”" for text in texts], 5)
