"""Recognise observations that LM Gym exported: the table `HumanValue`."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from lmgym.people.intake.numbers import number
from lmgym.people.intake.table import PeopleTable, TextColumn
from lmgym.people.intake.values import ROLE_OF_KIND
from lmgym.people.observations import Kind, Measure
from lmgym.people.tables import HumanValue
from lmgym.suites.intake.parsing import column_letter
from lmgym.text.columns import header

READER = "observations of LM Gym"
_ALWAYS = frozenset({"item", "condition", "value", "n_participants", "used", "measure", "kind"})
"""Columns with a value in every row; JSON and Parquet lose the others if they are empty."""
_MEAN_OVER_ITEMS = ("-1",)


def recognised(table: PeopleTable) -> PeopleTable:
    """Return the table with the measure and the roles that the format determines, if it is such an export."""
    columns = {column.name: column for column in table.columns}
    if not _ALWAYS <= columns.keys() <= set(header(HumanValue)):
        return table
    measure = _measure(columns)
    if measure is None:
        return table
    kept = tuple(
        column for column in table.columns if column.name != "item" or column.texts != _MEAN_OVER_ITEMS
    )
    roles = _roles(columns, measure.kind)
    letters = tuple((column_letter(k), roles.get(column.name, "skip")) for k, column in enumerate(kept))
    return replace(table, columns=kept, reader=READER, roles=letters, measure=measure)


def _measure(columns: dict[str, TextColumn]) -> Measure | None:
    """Return the measure of all rows; None if they have several or an unknown one."""
    names, kinds = columns["measure"].texts, columns["kind"].texts
    kind = next((one for one in get_args(Kind) if kinds == (one,)), None)
    ends = [columns[end].texts for end in ("scale_low", "scale_high") if end in columns]
    if len(names) != 1 or kind is None or any(len(texts) != 1 for texts in ends):
        return None
    known = [number(texts[0]) for texts in ends if texts[0]]
    return Measure(names[0], kind, (known[0], known[1]) if len(known) == 2 else None)


def _roles(columns: dict[str, TextColumn], kind: Kind) -> dict[str, str]:
    """Map headings to roles; other columns are not read."""
    filled = {name for name, column in columns.items() if any(column.texts)}
    place = {"word_number": "word"} if "word_number" in filled else {"region_number": "region"}
    optional = {
        **place,
        "text": "word_text" if filled & place.keys() else "sentence",
        "trial": "trial",
        **({"participant": "participant"} if "participant" in filled else {"n_participants": "n"}),
    }
    always = {"item": "item", "condition": "condition", "value": ROLE_OF_KIND[kind]}
    return always | {name: role for name, role in optional.items() if name in filled}
