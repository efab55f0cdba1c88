"""Read files with human data, and match them to a suite.

`import_people` does everything that a page needs; `read_file`, `propose_roles` and `match` are its steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from lmgym.people.intake.files import FileContents, read_file
from lmgym.people.intake.matching import ALL_ITEMS, Matched, match
from lmgym.people.intake.participants import Demographics, accuracy_by_key
from lmgym.people.intake.roles import (
    MEASURES,
    REGION_TIMES,
    ROLE_GROUPS,
    ROLES,
    ProposedRole,
    chosen_roles,
    propose_roles,
)
from lmgym.people.intake.table import PeopleTable
from lmgym.people.intake.words import Mismatch, words_of
from lmgym.suites.formats.documents import SuiteDocument
from lmgym.suites.intake.questions import Question
from lmgym.text.problems import FormatError, Notice, Problem

__all__ = [
    "ALL_ITEMS",
    "ROLES",
    "ROLE_GROUPS",
    "Demographics",
    "FileContents",
    "Imported",
    "Matched",
    "Mismatch",
    "PeopleTable",
    "ProposedRole",
    "chosen_roles",
    "import_contents",
    "import_people",
    "match",
    "propose_roles",
    "read_file",
    "words_of",
]


@dataclass(frozen=True)
class Imported:
    """A file read and matched, as far as the answers allow.

    Attributes:
        tables: tables of the file, those with values first; empty if it cannot be read.
        table: the chosen table, or the only one with values; None if it has to be chosen.
        columns: proposed role of each column of `table`.
        matched: the result; None without a table or as long as roles are open.
        questions: all questions, answered or not, in the order in which they are asked.
        asks: names of the questions that must be answered first. "columns" stands for all columns.
        problems: why nothing is imported; empty if `matched.observations` is there.
        notices: assumptions and oddities that were accepted, of the file and of matching.
    """

    tables: tuple[PeopleTable, ...] = ()
    table: PeopleTable | None = None
    columns: tuple[ProposedRole, ...] = ()
    matched: Matched | None = None
    questions: tuple[Question, ...] = ()
    asks: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    notices: tuple[Notice, ...] = field(default=())


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

    Raises:
        ValueError: the salt is too short.
    """
    answers = answers or {}
    try:
        contents = read_file(data, answers)
    except FormatError as error:
        return Imported(problems=tuple(error.problems))
    return import_contents(contents, filename, document, answers, salt=salt)


def import_contents(
    contents: FileContents,
    filename: str,
    document: SuiteDocument,
    answers: Mapping[str, str] | None = None,
    *,
    salt: bytes,
) -> Imported:
    """Match a file that was read to a suite, as `import_people` does, so that it is read once for several answers.

    Raises:
        ValueError: the salt is too short.
    """
    answers = answers or {}
    if contents.questions:
        question = contents.questions[0]
        problem = Problem("file", f"choose: {question.label.lower()}", "The file cannot be read without it.")
        return Imported(questions=contents.questions, asks=(question.name,), problems=(problem,))
    tables = tuple(sorted(contents.tables, key=lambda table: not _has_values(table, document)))
    names = {table.name: table.label for table in tables}
    with_values = [table for table in tables if _has_values(table, document)] or list(tables)
    questions: list[Question] = []
    chosen = answers.get("table", "")
    if len(tables) > 1:
        proposed = with_values[0].name if len(with_values) == 1 else ""
        questions.append(Question("table", "Rows to import", names, proposed))
        chosen = chosen if chosen in names else proposed
        if not chosen:
            message = f"the file has several kinds of rows: {'; '.join(list(names.values())[:8])}"
            problem = Problem("file", message, "Choose one; import the file again for another.")
            return Imported(tables, questions=tuple(questions), asks=("table",), problems=(problem,))
    table = next((table for table in tables if table.name == chosen), tables[0])
    columns = propose_roles(table, document)
    questions += [
        Question(
            f"columns.{column.letter}",
            f"Column {column.letter}",
            ROLES,
            _valid(answers.get(f"columns.{column.letter}", ""), column.role),
            column.header,
            column.doubt,
        )
        for column in columns
    ]
    open_columns = [
        column
        for column in columns
        if column.doubt and answers.get(f"columns.{column.letter}", "") not in ROLES
    ]
    if open_columns:
        problems = [
            Problem(
                f"column {column.letter}",
                f"“{column.header[:40]}”: {column.doubt}",
                "Choose what the column has.",
            )
            for column in open_columns
        ]
        asks = tuple(f"columns.{column.letter}" for column in open_columns)
        return Imported(
            tables, table, columns, None, tuple(questions), asks, tuple(problems), contents.notices
        )
    roles = chosen_roles(table, answers, document)
    matched = match(table, roles, document, answers, salt=salt)
    matched = _with_other_accuracy(matched, table, tables, document, salt)
    facts = {"sha256": contents.sha256, "filename": filename[:200], "other_rows": contents.n_others}
    matched = replace(matched, provenance={**matched.provenance, **facts})
    return Imported(
        tables,
        table,
        columns,
        matched,
        (*questions, *matched.questions),
        matched.asks,
        matched.problems,
        (*contents.notices, *matched.notices),
    )


def _valid(answer: str, proposed: str) -> str:
    return answer if answer in ROLES else proposed


def _has_values(table: PeopleTable, document: SuiteDocument) -> bool:
    return any(column.role in (*MEASURES, *REGION_TIMES) for column in propose_roles(table, document))


def _with_other_accuracy(
    matched: Matched,
    table: PeopleTable,
    tables: tuple[PeopleTable, ...],
    document: SuiteDocument,
    salt: bytes,
) -> Matched:
    """Take the accuracy of participants from another table of the file, such as the questions of an Ibex experiment."""
    if matched.observations is None or not np.isnan(matched.accuracy).all():
        return matched
    for other in tables:
        if other is table:
            continue
        shares = accuracy_by_key(other, chosen_roles(other, {}, document), salt)
        if shares:
            accuracy = np.array([shares.get(key, np.nan) for key in matched.observations.participants])
            return replace(matched, accuracy=accuracy)
    return matched
