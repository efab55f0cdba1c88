"""Participants: salted keys in place of names, accuracy, and chosen demographic columns."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmgym.people.intake.building import crossed
from lmgym.people.intake.numbers import is_missing, verdicts
from lmgym.people.intake.table import PeopleTable, TextColumn
from lmgym.text.problems import Report

SHORTEST_SALT = 16
"""Least number of bytes of a salt."""
MAX_VALUES = 10
"""Number of values of a demographic column that a participant may have."""
SMALL_GROUP = 5
"""Number of people below which a value of a demographic column may identify them."""


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


def columns_of(table: PeopleTable, roles: Mapping[str, str], role: str) -> list[TextColumn]:
    """Return the columns with a role, in their order."""
    letters = zip(table.letters, table.columns, strict=True)
    return [column for letter, column in letters if roles.get(letter) == role]


def salted(names: Sequence[str], salt: bytes) -> str:
    """Return the key of a participant: 16 hexadecimal digits of a hash keyed by the salt."""
    message = "\x1f".join(names).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(message, key=hashlib.sha256(salt).digest(), digest_size=8).hexdigest()


def participants(
    table: PeopleTable, roles: Mapping[str, str], salt: bytes
) -> tuple[NDArray[np.int64], list[str]] | None:
    """Return the participant of each row (-1 where the cell is empty) and their keys; None without a column."""
    columns = columns_of(table, roles, "participant")
    if not columns:
        return None
    codes, names = crossed(columns)
    unknown = np.array([all(map(is_missing, name)) for name in names])
    keys = [salted(name, salt) for name in names]
    return np.where(unknown[codes], -1, codes), keys


def accuracy_by_key(table: PeopleTable, roles: Mapping[str, str], salt: bytes) -> dict[str, float]:
    """Return the share of correct answers of each participant, by key; a trial with several rows counts once."""
    people, correct = participants(table, roles, salt), columns_of(table, roles, "correct")
    if people is None or not correct:
        return {}
    codes, keys = people
    answers = verdicts(correct[0].texts)[correct[0].codes]
    trials = [
        column
        for role in ("trial", "item", "item_label", "condition", "sentence")
        for column in columns_of(table, roles, role)
    ]
    known = ~np.isnan(answers) & (codes >= 0)
    if not known.any():
        return {}
    trial = crossed(trials)[0] if trials else np.arange(len(table))
    _, firsts = np.unique(codes[known] * (int(trial.max()) + 1) + trial[known], return_index=True)
    people_of, values = codes[known][firsts], answers[known][firsts]
    totals, n = np.bincount(people_of, values, len(keys)), np.bincount(people_of, minlength=len(keys))
    return {key: float(total / count) for key, total, count in zip(keys, totals, n, strict=True) if count}


def demographics(
    table: PeopleTable, roles: Mapping[str, str], codes: NDArray[np.int64], n_people: int, report: Report
) -> Demographics | None:
    """Collect the chosen columns about participants. Raises FormatError for columns that are not about participants.

    Args:
        codes: int[n_rows], place in `Observations.participants`, -1 for rows that are left out.
    """
    columns = columns_of(table, roles, "demographic")
    if not columns or not n_people:
        return None
    cells: list[list[str]] = []
    small: list[tuple[str, str, int]] = []
    for column in columns:
        values: dict[int, list[str]] = defaultdict(list)
        pairs = np.unique(codes[codes >= 0] * len(column.texts) + column.codes[codes >= 0])
        for person, code in zip(
            (pairs // len(column.texts)).tolist(), (pairs % len(column.texts)).tolist(), strict=True
        ):
            if not is_missing(column.texts[code]):
                values[person].append(column.texts[code][:200])
        if max(map(len, values.values()), default=0) > MAX_VALUES:
            message = f"“{column.name[:40]}” has more than {MAX_VALUES} values for one participant"
            report.problem("file", message, "It is not about participants: choose “not read”.")
            report.raise_problems()
        texts = ["; ".join(values[person]) for person in range(n_people)]
        cells.append(texts)
        groups = Counter(text for text in texts if text)
        small += [(column.name, text, n) for text, n in groups.items() if n < SMALL_GROUP]
    return Demographics(
        tuple(column.name for column in columns), tuple(zip(*cells, strict=True)), tuple(small)
    )
