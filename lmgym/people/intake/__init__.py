"""Read files with human data, and match them to a suite.

`import_people` does everything that a page needs; `read_file`, `propose_roles` and `match` are its steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lmgym.people.intake.matching import Matched
from lmgym.people.intake.roles import ProposedRole
from lmgym.people.intake.table import PeopleTable
from lmgym.suites.formats.documents import SuiteDocument
from lmgym.suites.intake.questions import Question
from lmgym.text.problems import Problem


@dataclass(frozen=True)
class Imported:
    """A file read and matched, as far as the answers allow.

    Attributes:
        tables: tables of the file with values; empty if it cannot be read.
        table: the chosen table, or the only one; None if it has to be chosen.
        columns: proposed role of each column of `table`.
        matched: the result; None without a table or as long as roles are open.
        questions: all questions, answered or not, in the order in which they are asked.
        asks: names of the questions that must be answered first; empty if `matched.observations` is there or if there are
            `problems` that no answer resolves.
        problems: why nothing is imported.
    """

    tables: tuple[PeopleTable, ...] = ()
    table: PeopleTable | None = None
    columns: tuple[ProposedRole, ...] = ()
    matched: Matched | None = None
    questions: tuple[Question, ...] = ()
    asks: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def import_people(
    data: bytes,
    filename: str,
    document: SuiteDocument,
    answers: Mapping[str, str] | None = None,
    *,
    salt: bytes,
) -> Imported:
    """Read a file with human data and match it to a suite. Never raises for a bad file.

    Args:
        answers: answers by name of the question: "encoding", "sheet", "table", "columns.LETTER", and those of `match`.
            Others are ignored.
        salt: secret that keys the hashes of participants; at least 16 bytes.
    """
    raise NotImplementedError
