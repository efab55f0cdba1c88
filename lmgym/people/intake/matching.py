"""Match a table of human data to the sentences of a suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmgym.people.intake.numbers import is_missing, mark, whole
from lmgym.people.intake.participants import (
    SHORTEST_SALT,
    SMALL_GROUP,
    Demographics,
    accuracy_by_key,
    columns_of,
    demographics,
    participants,
)
from lmgym.people.intake.roles import MAX_ANSWERS, REPEATABLE, ROLES
from lmgym.people.intake.sentences import RowSentences, find_sentences
from lmgym.people.intake.state import Matching
from lmgym.people.intake.table import PeopleTable, TextColumn
from lmgym.people.intake.values import Values, counts, read_values
from lmgym.people.intake.words import Mismatch, Mismatches, Places, find_places, leave_out_mismatches
from lmgym.people.observations import WHOLE_SENTENCE, Observations
from lmgym.suites.formats.documents import MAX_NAME_CHARACTERS, SuiteDocument
from lmgym.suites.intake.questions import Question
from lmgym.text import count, listing
from lmgym.text.problems import FormatError, Notice, Problem

ALL_ITEMS = -1
"""`item` of an observation that is a mean over all items of the suite, such as a rate by paradigm."""
LAST_WORD = 32_767
"""Largest number of a word in `Observations`."""


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
        mismatches: words that differ from the suite's; the first 200.
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
            ("out": rows of items that the suite lacks are fillers or practice), "words" ("out" or "keep" sentences
            whose words differ), "doubled" ("first" or "mean"), "impossible" ("out"), "missing" ("accept" that
            conditions have no data), "answers.TEXT" ("1", "0" or "-": leave out), "excluded.TEXT" ("out" or "keep" rows
            whose mark is neither yes nor no), "scale" ("1-7"), "suite_row" and "stands_for" (a table with a row per
            suite).
        salt: secret that keys the hashes of participants; at least 16 bytes.

    Raises:
        ValueError: the salt is too short.
    """
    if len(salt) < SHORTEST_SALT:
        raise ValueError(f"the salt has {len(salt)} bytes; it needs at least {SHORTEST_SALT}")
    state = Matching(table, roles, document, answers or {}, np.ones(len(table), bool))
    matcher = _Matcher(state, salt)
    with suppress(FormatError):  # the problems are in the report
        matcher.run()
    return matcher.result()


class _Matcher:
    """Steps of matching one table; call `run` once, then `result`."""

    def __init__(self, state: Matching, salt: bytes) -> None:
        self.state, self.salt = state, salt
        self.observations: Observations | None = None
        self.accuracy = np.empty(0)
        self.demographics: Demographics | None = None
        self.mismatches = Mismatches()

    def run(self) -> None:
        """Match the table. Raises FormatError at problems after which nothing more can be checked."""
        state = self.state
        if not len(state.table):
            state.report.problem("file", "the table has no rows")
            state.report.raise_problems()
        _check_roles(state)
        _leave_out_excluded(state)
        people = participants(state.table, state.roles, self.salt)
        owner = people[0] if people else np.full(len(state.table), -1)
        if people:
            state.leave_out(owner < 0, "without a participant")
        found = find_sentences(state)
        places = find_places(state, found.sentence, owner)
        self.mismatches = places.mismatches
        leave_out_mismatches(state, places, found.sentence)
        values = read_values(state)
        n = counts(state)
        if people is None and n is None:
            state.asks.append("columns")
            hint = "Choose the column with participants or, for means, the number of participants."
            state.report.problem(
                "file", "no column has the participant, and none the number of participants", hint
            )
        state.report.raise_problems()
        self._assemble(found, places, values, owner, people[1] if people else [], n)

    def _assemble(
        self,
        found: RowSentences,
        places: Places,
        values: Values,
        owner: NDArray[np.int64],
        keys: list[str],
        n: NDArray[np.int32] | None,
    ) -> None:
        """Build the observations of the rows that are kept."""
        state = self.state
        kept = state.keep[values.row] & ~np.isnan(values.value)
        row = values.row[kept]
        region = places.region[row] if values.region is None else values.region[kept].astype(np.int64)
        if int(places.word.max(initial=0)) > LAST_WORD:
            message = f"a sentence of more than {LAST_WORD:,} words"
            state.report.problem("file", message, "Divide the text into several items.")
            state.report.raise_problems()
        if not len(row):
            state.report.problem(
                "file", f"no row is left: {_in_words(state.left_out)}", "Check the roles of the columns."
            )
            state.report.raise_problems()
        sentence = found.sentence[row]
        item, condition = _items_and_conditions(state.document, sentence, found.condition[row])
        people, codes = np.unique(owner[row], return_inverse=True)
        firsts = np.full(len(people), len(row))
        np.minimum.at(firsts, codes, np.arange(len(row)))
        order = np.argsort(firsts, kind="stable")
        rank = np.empty(len(people), np.int64)
        rank[order] = np.arange(len(people))
        participant = rank[codes] if keys else np.full(len(row), -1)
        names = tuple(keys[people[place]] for place in order) if keys else ()
        observations = Observations(
            values.measure,
            names,
            state.document.conditions,
            participant.astype(np.int32),
            item.astype(np.int32),
            condition.astype(np.int16),
            region.astype(np.int16),
            (places.word[row] if values.region is None else np.full(len(row), WHOLE_SENTENCE)).astype(
                np.int16
            ),
            values.value[kept],
            n[row] if n is not None and not keys else np.ones(len(row), np.int32),
            _trials(state)[row],
        )
        observations = _once(state, observations, state.table.lines[row])
        _check_missing(state, observations)
        state.report.raise_problems()
        self._about_people(names, participant, row)
        self.observations = observations

    def _about_people(
        self, names: tuple[str, ...], participant: NDArray[np.int64], row: NDArray[np.int64]
    ) -> None:
        state = self.state
        shares = accuracy_by_key(state.table, state.roles, self.salt)
        self.accuracy = np.array([shares.get(name, np.nan) for name in names])
        codes = np.full(len(state.table), -1)
        codes[row] = participant
        self.demographics = demographics(state.table, state.roles, codes, len(names), state.report)
        if self.demographics and self.demographics.small_groups:  # notices are stored, so they name no values
            state.report.warning(
                "file",
                f"fewer than {SMALL_GROUP} people share some values of the columns about participants, which may "
                "identify them",
            )

    def result(self) -> Matched:
        """Return what was matched; without observations if there are problems."""
        state = self.state
        problems = FormatError(state.report.problems).problems if state.report.problems else []
        used = {question.name for question in state.questions}
        provenance = {
            "reader": state.table.reader,
            "table": state.table.name,
            "columns": {
                letter: {"heading": column.name, "role": state.roles.get(letter, "skip")}
                for letter, column in zip(state.table.letters, state.table.columns, strict=True)
            },
            "answers": {name: answer for name, answer in state.answers.items() if name in used},
            "rows": len(state.table),
            "left_out": dict(state.left_out),
            "observations": len(self.observations) if self.observations else 0,
        }
        return Matched(
            observations=None if problems else self.observations,
            accuracy=self.accuracy,
            questions=tuple(state.questions),
            asks=tuple(dict.fromkeys(state.asks)),
            problems=tuple(problems),
            notices=tuple(dict.fromkeys(state.report.notices)),
            mismatches=self.mismatches.first,
            n_mismatches=self.mismatches.n,
            left_out=dict(state.left_out),
            demographics=self.demographics,
            provenance=provenance,
        )


def _check_roles(state: Matching) -> None:
    """Refuse unknown roles, and roles that only one column may have."""
    times = Counter(state.roles.values())
    for role, n in times.items():
        if role not in ROLES:
            state.report.problem("file", f"unknown role “{role[:40]}”", f"Roles: {', '.join(ROLES)}.")
        elif n > 1 and role not in REPEATABLE:
            letters = [letter for letter, one in state.roles.items() if one == role]
            state.asks.append("columns")
            message = f"columns {listing(letters)} have the role “{ROLES[role]}”"
            state.report.problem(f"column {letters[1]}", message, "Choose one of them.")
    if times["word"] and times["word_from_0"]:
        state.asks.append("columns")
        state.report.problem(
            "file", "words are numbered from 1 in one column and from 0 in another", "Choose one of them."
        )
    for letter in state.roles:
        if letter not in state.table.letters:
            state.report.problem(
                "file", f"no column {letter[:10]}", f"The last one is {state.table.letters[-1]}."
            )
    state.report.raise_problems()


def _leave_out_excluded(state: Matching) -> None:
    for column in columns_of(state.table, state.roles, "excluded"):
        marks = np.array([0.0 if is_missing(text) else mark(text) for text in column.texts])
        _ask_about_marks(state, column, marks)
        state.leave_out((marks != 0)[column.codes], f"marked in “{column.name[:40]}”")


def _ask_about_marks(state: Matching, column: TextColumn, marks: NDArray[np.float64]) -> None:
    """Ask which marks that are neither yes nor no leave their rows out, and write 1 or 0 for them into `marks`."""
    unknown = np.flatnonzero(np.isnan(marks)).tolist()
    heading = column.name[:40]
    if len(unknown) > MAX_ANSWERS:
        state.asks.append("columns")
        message = (
            f"{len(unknown)} values in “{heading}” are neither yes nor no: "
            f"{state.examples([column.texts[code] for code in unknown])}"
        )
        state.report.problem("file", message, "Choose another role for the column.")
        return
    for code in unknown:
        text = column.texts[code][:MAX_NAME_CHARACTERS]
        choices = {"out": "leave its rows out", "keep": "keep its rows"}
        question = Question(f"excluded.{text}", f"Rows marked “{text[:60]}”", choices, "")
        message = f"“{text[:60]}” in “{heading}” is neither yes nor no"
        answer = state.ask(
            question, state.where(column.codes == code), message, "Choose whether its rows are left out."
        )
        marks[code] = 0.0 if answer == "keep" else 1.0


def _items_and_conditions(
    document: SuiteDocument, sentence: NDArray[np.int64], condition: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return item number and condition of each observation; ALL_ITEMS for means over items."""
    place = {name: k for k, name in enumerate(document.conditions)}
    items = np.array([*(s.item for s in document.sentences), ALL_ITEMS])
    conditions = np.array([*(place[s.condition] for s in document.sentences), -1])
    return items[sentence], np.where(sentence >= 0, conditions[sentence], condition)


def _trials(state: Matching) -> NDArray[np.int32]:
    """Return the place of each row's trial, 0 if unknown."""
    for column in columns_of(state.table, state.roles, "trial"):
        numbered = [max(whole(text) or 0, 0) for text in column.texts]
        return np.array(numbered, np.int32)[column.codes]
    return np.zeros(len(state.table), np.int32)


def _once(state: Matching, observations: Observations, lines: NDArray[np.int64]) -> Observations:
    """Ask about values of the same participant, item, condition and region or word, and keep the first or their mean,
    which weights means over participants by their numbers."""
    slot = np.where(
        observations.word > 0, observations.word.astype(np.int64), -observations.region.astype(np.int64)
    )
    keys = observations.participant.astype(np.int64) + 1
    for column in (observations.item.astype(np.int64) + 1, observations.condition.astype(np.int64), slot):
        low = int(column.min())
        _, keys = np.unique(keys * (int(column.max()) - low + 1) + column - low, return_inverse=True)
    _, firsts, codes, times = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    if len(firsts) == len(keys):
        return observations
    twice = times[codes] > 1
    again = twice & (np.arange(len(keys)) != firsts[codes])
    example = int(np.flatnonzero(again)[0])
    place = state.table.place
    who = "participant, " if observations.participants else ""
    what = "word" if slot.max() > 0 else "region"
    message = (
        f"{count(int(again.sum()), 'row')} with a value that an earlier row has already, for the same {who}item, "
        f"condition and {what}: {place} {lines[example]} repeats {place} {lines[firsts[codes[example]]]}"
    )
    question = Question(
        "doubled",
        "Repeated values",
        {
            "first": "the sentence was shown again: keep the first value",
            "mean": "keep the mean of the values",
        },
        "",
    )
    hint = "Remove rows that were copied twice; if two people share a name, choose another column to tell them apart."
    rows = np.unique(lines[again])
    answer = state.ask(
        question, f"{place}{'s' if len(rows) > 1 else ''} {listing(rows.tolist())}", message, hint
    )
    firsts = np.sort(firsts)
    kept = observations.take(firsts)
    state.left_out["repeated"] = int(again.sum())
    if answer != "mean":
        return kept
    n = np.bincount(codes, observations.n_participants)
    means = np.bincount(codes, observations.n_participants * observations.value) / n
    kept = replace(kept, value=means[codes[firsts]])
    if not observations.are_means:
        return kept
    pooled = np.minimum(n, np.iinfo(np.int32).max).astype(np.int32)
    return replace(kept, n_participants=pooled[codes[firsts]])


def _check_missing(state: Matching, observations: Observations) -> None:
    """Ask about conditions without data; note sentences without data."""
    document = state.document
    has = {document.conditions[k] for k in np.unique(observations.condition).tolist()}
    lacking = [name for name in document.conditions if name not in has]
    is_row = (observations.item == ALL_ITEMS).any()
    if lacking and not is_row:
        question = Question("missing", "Conditions without data", {"accept": "import the others"}, "accept")
        message = f"no data for {count(len(lacking), 'condition')} of the suite: {state.examples(lacking)}"
        state.ask(question, "file", message, "Check the conditions, or import the others.")
    if is_row:
        return
    pairs = set(zip(observations.item.tolist(), observations.condition.tolist(), strict=True))
    without = sum((s.item, document.conditions.index(s.condition)) not in pairs for s in document.sentences)
    if without:
        state.report.warning(
            "file", f"no data for {without} of the suite’s {len(document.sentences)} sentences"
        )


def _in_words(left_out: Mapping[str, int]) -> str:
    return listing([f"{n:,} {reason}" for reason, n in left_out.items()]) or "the table is empty"
