"""Roles of the columns of human data, proposed from the format, the headings and the values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lmgym.people.intake.table import PeopleTable

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
"""Roles of a column, with labels. Several columns may have the roles participant, item_label, condition, those of
measures, demographic and skip; values of several participant, item name or condition columns are joined by a hyphen.
"""
ROLE_GROUPS: dict[str, tuple[str, ...]] = {
    "Who and what": ("participant", "item", "item_label", "condition", "sentence", "region", "word", "word_from_0", "word_text"),
    "Measures": ("rt_ms", "rt_s", "rating", "binary", "choice", "region_ms", "region_s", "n", "sd"),
    "Trials": ("trial", "correct", "excluded", "list"),
    "Not needed": ("demographic", "skip"),
}  # fmt: skip
"""ROLES in the groups of the menu of a column."""
MEASURES = ("rt_ms", "rt_s", "rating", "binary", "choice")
"""Roles of a column with values; `region_ms` and `region_s` columns together are one measure."""


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


def propose_roles(table: PeopleTable) -> tuple[ProposedRole, ...]:
    """Propose a role for each column.

    Columns of measures with an unclear unit or kind, and tables that lack a needed column, have a `doubt` and must be
    answered. Demographic columns are proposed as "skip".
    """
    raise NotImplementedError


def chosen_roles(table: PeopleTable, answers: Mapping[str, str]) -> dict[str, str]:
    """Return the role of each column by letter: the answer to "columns.LETTER", otherwise the proposed role."""
    raise NotImplementedError
