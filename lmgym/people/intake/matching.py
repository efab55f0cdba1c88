"""Match a table of human data to the sentences of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmgym.people.intake.table import PeopleTable
from lmgym.people.observations import Observations
from lmgym.suites.formats.documents import SuiteDocument
from lmgym.suites.intake.questions import Question
from lmgym.text.problems import Notice, Problem

ALL_ITEMS = -1
"""`item` of an observation that is a mean over all items of the suite, such as a rate by paradigm."""


@dataclass(frozen=True)
class Mismatch:
    """A word or text of the table that differs from the suite's.

    Attributes:
        line: of the table.
        item, condition: of the suite's sentence.
        word: word number from 1; 0 for the whole sentence or region.
        in_table, in_suite: the two texts.
    """

    line: int
    item: int
    condition: str
    word: int
    in_table: str
    in_suite: str


@dataclass(frozen=True)
class Demographics:
    """Chosen columns about participants, apart from the observations.

    Attributes:
        names: headings of the columns.
        rows: one per participant of `Observations.participants`; "" where unknown, several values joined by "; ".
        small_groups: (column, value, number of participants) of values that fewer than `SMALL_GROUP` people share.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    small_groups: tuple[tuple[str, str, int], ...] = ()


SMALL_GROUP = 5
"""Number of people below which a value of a demographic column may identify them."""


@dataclass(frozen=True)
class Matched:
    """A table matched to a suite.

    Attributes:
        observations: of the chosen measure; None if there are problems. Nothing is half imported.
        accuracy: float64[n_participants], share of questions answered correctly; NaN if unknown.
        questions: all questions about this table, answered or not, for a form.
        asks: names of the questions that must be answered before the table can be imported.
        problems: reasons why the table cannot be imported as answered.
        notices: assumptions and oddities that were accepted.
        mismatches: words that differ from the suite's; the first `MAX_MISMATCHES`.
        n_mismatches: number of all of them.
        left_out: rows that are not among the observations, by reason.
        demographics: chosen columns about participants, or None.
        provenance: reader, roles, answers, counts; with "sha256" and "filename" if a file was read.
    """

    observations: Observations | None
    accuracy: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    questions: tuple[Question, ...] = ()
    asks: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    notices: tuple[Notice, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    n_mismatches: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    demographics: Demographics | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)


MAX_MISMATCHES = 200


def match(
    table: PeopleTable,
    roles: Mapping[str, str],
    document: SuiteDocument,
    answers: Mapping[str, str] | None = None,
    *,
    salt: bytes,
) -> Matched:
    """Match the rows of a table to the sentences of a suite. Never raises for a bad table; see `Matched.problems`.

    Args:
        roles: column letter to role, as `chosen_roles` returns them.
        answers: answer by name of the question: "measure" (letter of the column with values, or "regions"), "items"
            ("number", "name" or "sentence"), "conditions.NAME" ("=NAME" of the suite's, or "-": leave out), "others"
            ("out": rows of items that the suite lacks are fillers or practice), "words" ("out": leave out sentences
            whose words differ), "doubled" ("first" or "mean"), "impossible" ("out"), "scale" ("1-7").
        salt: secret that keys the hashes of participants; at least 16 bytes.

    Raises:
        ValueError: the salt is too short.
    """
    raise NotImplementedError
