"""Roles of the columns of human data, proposed from the format, the headings and the values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lmgym.people.intake.headings import heading_role, measure_name, unit_in
from lmgym.people.intake.numbers import is_missing, numbers, verdicts
from lmgym.people.intake.records import BEFORE, RUN
from lmgym.people.intake.table import PeopleTable, TextColumn
from lmgym.suites.formats.documents import SuiteDocument
from lmgym.suites.headings import normal, roles_of

ROLES: dict[str, str] = {
    "participant": "participant",
    "item": "item number",
    "item_label": "item name",
    "condition": "condition",
    "sentence": "sentence",
    "region": "region number or name",
    "word": "word number (1 is the first)",
    "word_from_0": "word number (0 is the first)",
    "word_text": "word or text of the region",
    "rt_ms": "reading time in ms",
    "rt_s": "reading time in seconds",
    "rating": "rating",
    "binary": "judgment (yes or no, 1 or 0), or share of yes",
    "choice": "chosen or not (forced choice), or share of choices",
    "region_ms": "reading time of the region in the heading, in ms",
    "region_s": "reading time of the region in the heading, in seconds",
    "n": "number of participants of a mean",
    "sd": "standard deviation",
    "trial": "order of trials",
    "correct": "answer to the question was correct",
    "excluded": "row is to be left out",
    "list": "list",
    "demographic": "about the participant: keep",
    "skip": "not read",
}
"""Roles of a column, with labels. Several columns may have the roles in `REPEATABLE`; the values of several participant
or condition columns are joined by a hyphen.
"""
ROLE_GROUPS: dict[str, tuple[str, ...]] = {
    "Who and what": ("participant", "item", "item_label", "condition", "sentence"),
    "Words and regions": ("region", "word", "word_from_0", "word_text"),
    "Measures": ("rt_ms", "rt_s", "rating", "binary", "choice", "region_ms", "region_s", "n", "sd"),
    "Trials": ("trial", "correct", "excluded", "list"),
    "Not needed": ("demographic", "skip"),
}
"""ROLES in the groups of the menu of a column."""
MEASURES = ("rt_ms", "rt_s", "rating", "binary", "choice")
"""Roles of a column with values; `region_ms` and `region_s` columns together are one measure."""
REGION_TIMES = ("region_ms", "region_s")
_TIMES = ("rt_ms", "rt_s")
WORD_NUMBERS = frozenset({"word", "word_from_0"})
REPEATABLE = frozenset(
    {"participant", "condition", "list", "demographic", "skip", "sd", *MEASURES, *REGION_TIMES}
)
MAX_ANSWERS = 12
"""Number of answers other than yes and no that are asked about, one question each."""
LONGEST_SECONDS = 20
"""Reading times with a smaller median are probably seconds: nobody reads words in under 20 ms."""
_REGION_HEADING = re.compile(
    r"(?:(?:region|reg|roi|r)_?)?(\d{1,3})(?:_?(?:rt|ms|s|time))?|(?:rt|time)_?(?:r|region)?_?(\d{1,3})"
)
_ANSWER = re.compile(r"(button_)?(response|answer)s?(_q?\d+)?|button_pressed")
"""Headings of answers to a question that they do not name."""
_MOST_DISTINCT = 2_000
"""Number of distinct cells of a column that are looked at."""


@dataclass(frozen=True)
class ProposedRole:
    """The role that a column probably has.

    Attributes:
        letter, header: of the column.
        role: one of ROLES.
        doubt: why the user should decide, or "".
    """

    letter: str
    header: str
    role: str
    doubt: str = ""


def propose_roles(table: PeopleTable, document: SuiteDocument | None = None) -> tuple[ProposedRole, ...]:
    """Propose a role for each column.

    Columns whose unit or kind is unclear have a `doubt` and must be answered. Demographic columns are proposed as
    "skip".

    Args:
        document: suite whose region names may be headings.
    """
    fixed = dict(table.roles)
    names = {normal(column.name) for column in table.columns}
    roles: list[ProposedRole] = []
    used: set[str] = set(fixed.values())
    for letter, column in zip(table.letters, table.columns, strict=True):
        role, doubt = fixed.get(letter, ""), ""
        if not role:
            role, doubt = _proposed(column, names)
            if role not in REPEATABLE and used & (WORD_NUMBERS if role in WORD_NUMBERS else {role}):
                role, doubt = "skip", ""
            used.add(role)
        roles.append(ProposedRole(letter, column.name, role, doubt))
    roles = _with_word_numbers(_with_weak_names(_one_participant(roles), table), table)
    if document is not None and not used & {*MEASURES, *WORD_NUMBERS, "region"}:
        roles = _with_regions(roles, table, document)
    return tuple(_with_whole_sentences(roles, table))


def _proposed(column: TextColumn, names: set[str]) -> tuple[str, str]:
    """Return role and doubt of a column by its heading and values."""
    heading = column.name
    if heading.endswith(BEFORE):
        return heading_role(heading.removesuffix(BEFORE)) or "skip", "taken from the trial before"
    role = heading_role(heading)
    if heading == RUN:
        return "participant", ""
    if role == "demographic":
        return "skip", ""
    if role == "rt_ms":
        return _time(column, heading)
    if role in ("rating", "binary", "choice"):
        return _judgment(column, role, names)
    if role == "word":
        return _word_number(column)
    if not role and _ANSWER.fullmatch(normal(heading)):
        role, doubt = _judgment(column, "rating", names)
        return role, doubt or "its heading does not name the judgment"
    return role or "skip", ""


def _time(column: TextColumn, heading: str) -> tuple[str, str]:
    unit = unit_in(heading)
    values = numbers(column.texts[:_MOST_DISTINCT])
    values = values[values > 0]
    if not len(values):
        is_empty = (
            all(map(is_missing, column.texts[:_MOST_DISTINCT])) or measure_name(heading) == "response time"
        )
        return (
            "skip" if is_empty else "rt_ms"
        ), ""  # with words in place of numbers, matching names their lines
    if unit:
        return ("rt_ms" if unit == "ms" else "rt_s"), ""
    middle = float(np.median(values))
    if re.match(r"log|g?sd", normal(heading)):
        return "skip", ""
    return (
        ("rt_ms", "")
        if middle >= LONGEST_SECONDS
        else ("rt_s", f"half of its values are below {middle:.3g}: seconds?")
    )


def _word_number(column: TextColumn) -> tuple[str, str]:
    """Tell numbers of words from 1 from those from 0 by the values."""
    values = numbers(column.texts)
    return ("word_from_0", "it has a 0: is 0 the first word?") if (values == 0).any() else ("word", "")


def _with_word_numbers(roles: list[ProposedRole], table: PeopleTable) -> list[ProposedRole]:
    """Take whole numbers under a heading of words, such as “word”, for word numbers if no other column has these."""
    if WORD_NUMBERS & {role.role for role in roles}:
        return roles
    result, fixed = [], dict(table.roles)
    for role, letter, column in zip(roles, table.letters, table.columns, strict=True):
        texts = [text for text in column.texts if not is_missing(text)]
        is_number = role.role == "word_text" and letter not in fixed and bool(texts)
        if is_number and (np.mod(numbers(texts), 1) == 0).all():  # NaN, of a text, is not equal
            role = ProposedRole(role.letter, role.header, *_word_number(column))
        result.append(role)
    return result


def _judgment(column: TextColumn, role: str, names: set[str]) -> tuple[str, str]:
    """Tell ratings from yes and no by the values."""
    texts = [text for text in column.texts[:_MOST_DISTINCT] if not is_missing(text)]
    values = numbers(texts)
    has_words = np.isnan(values).all() and np.isnan(verdicts(texts)).any()
    if not texts or (has_words and len(texts) > MAX_ANSWERS):
        return "skip", ""
    if has_words:
        return role if role != "rating" else "binary", ""
    if role == "rating" and not np.isnan(verdicts(texts)).any():
        return "binary", ""
    is_share = bool(((values >= 0) & (values <= 1)).all())
    if role == "choice" and "total_mean" in names:
        return role, "" if is_share else "its values are not between 0 and 1"
    return role, ""


def _with_weak_names(roles: list[ProposedRole], table: PeopleTable) -> list[ProposedRole]:
    """Take headings such as “type” and “nr” for condition and item, and “time” for a reading time, only if no better
    column has the role."""
    headings = [role.header for role in roles]
    kinds = {role.role for role in roles}
    weak = roles_of(headings, [column.texts for column in table.columns])
    has_times = any(
        measure_name(role.header) not in ("", "response time") for role in roles if role.role in _TIMES
    )
    result = []
    for role, name in zip(roles, weak, strict=True):
        if role.role in _TIMES and has_times and measure_name(role.header) == "response time":
            role = ProposedRole(role.letter, role.header, "skip")
        elif (
            role.role == "skip"
            and name in ("item", "condition")
            and not kinds & {name, "item_label"} - {role.role}
        ):
            role = ProposedRole(role.letter, role.header, name)
        result.append(role)
    return result


def _one_participant(roles: list[ProposedRole]) -> list[ProposedRole]:
    """Keep the first participant column; the number of a list of trials, or a hash of an address, only if there is no
    other."""
    people = [role for role in roles if role.role == "participant"]
    named = [role for role in people if role.header != RUN and normal(role.header) != "md5"] or people
    return [
        ProposedRole(role.letter, role.header, "skip") if role in people and role is not named[0] else role
        for role in roles
    ]


def region_number(heading: str, document: SuiteDocument) -> int:
    """Return the number of the region that a heading names, or 0."""
    wanted = normal(heading)
    for number, name in document.regions.items():
        if wanted in (normal(name), f"{normal(name)}_rt", f"rt_{normal(name)}"):
            return number
    match = _REGION_HEADING.fullmatch(wanted)
    number = int(match[1] or match[2]) if match else 0
    return number if number in document.regions else 0


def _with_regions(
    roles: list[ProposedRole], table: PeopleTable, document: SuiteDocument
) -> list[ProposedRole]:
    """Propose columns named after regions, with numbers, as reading times of these regions."""
    result = []
    for role, column in zip(roles, table.columns, strict=True):
        is_free = role.role == "skip" and heading_role(column.name) != "demographic"
        if is_free and region_number(column.name, document):
            values = numbers([text for text in column.texts[:_MOST_DISTINCT] if not is_missing(text)])
            if len(values) and np.isfinite(values).all():
                is_seconds = float(np.median(values)) < LONGEST_SECONDS
                doubt = (
                    f"half of its values are below {np.median(values):.3g}: seconds?" if is_seconds else ""
                )
                result.append(
                    ProposedRole(role.letter, role.header, "region_s" if is_seconds else "region_ms", doubt)
                )
                continue
        result.append(role)
    return result


def _with_whole_sentences(roles: list[ProposedRole], table: PeopleTable) -> list[ProposedRole]:
    """Take a text column for the sentence if its cells are whole sentences and no column numbers words or regions."""
    kinds = {role.role for role in roles}
    if "sentence" in kinds or kinds & {*WORD_NUMBERS, "region"}:
        return roles
    return [
        ProposedRole(role.letter, role.header, "sentence")
        if role.role == "word_text" and np.mean([len(text.split()) for text in column.texts[:200]]) >= 3
        else role
        for role, column in zip(roles, table.columns, strict=True)
    ]


def chosen_roles(
    table: PeopleTable, answers: Mapping[str, str], document: SuiteDocument | None = None
) -> dict[str, str]:
    """Return the role of each column by letter: the answer to "columns.LETTER", otherwise the proposed role."""
    roles = {}
    for proposed in propose_roles(table, document):
        answer = answers.get(f"columns.{proposed.letter}", "")
        roles[proposed.letter] = answer if answer in ROLES else proposed.role
    return roles
