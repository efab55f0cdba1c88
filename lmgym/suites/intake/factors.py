"""Conditions that are written in several columns, one per factor of the design, or in a label with the item (12b)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from lmgym.suites.formats.designs import DesignError, condition_name, with_factors
from lmgym.suites.formats.documents import SuiteDocument
from lmgym.suites.intake.header import Headed
from lmgym.suites.intake.parsing import column_letter
from lmgym.suites.intake.reading import Reading, at
from lmgym.text import listing, tidy, unguard

TELLS_APART = "tells sentences of an item apart"
_MOST_FACTORS = 3
_MOST_LEVELS = 8
_LONGEST_LEVEL = 40
_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class Crossing:
    """Factors of a sheet. `cells`: the levels of each condition, by its name in the sheet."""

    names: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]


def telling_columns(
    columns: Sequence[Sequence[str]], items: Sequence[str], places: Sequence[int], fixed: Sequence[int] = ()
) -> list[int]:
    """Return the fewest columns that, with the fixed ones, give every item the same conditions, each once.
    At most three of the first candidates are tried together; [] if none fit.

    Args:
        items: item of each row.
        places: columns that may be factors.
    """
    candidates = [k for k in places if k not in fixed and _may_be_factor(columns[k])][:_CANDIDATES]
    for number in range(1, _MOST_FACTORS + 1):
        for chosen in combinations(candidates, number):
            if crosses([columns[k] for k in (*fixed, *chosen)], items):
                return list(chosen)
    return []


def _may_be_factor(cells: Sequence[str]) -> bool:
    levels = set(cells)
    return "" not in levels and 2 <= len(levels) <= _MOST_LEVELS and max(map(len, levels)) <= _LONGEST_LEVEL


def crosses(factors: Sequence[Sequence[str]], items: Sequence[str]) -> bool:
    """Return whether every item has the same combinations of levels, each once."""
    conditions: dict[str, list[tuple[str, ...]]] = {}
    for item, *levels in zip(items, *factors, strict=True):
        conditions.setdefault(item, []).append(tuple(levels))
    sets = {frozenset(names) for names in conditions.values()}
    has_each_once = all(len(set(names)) == len(names) for names in conditions.values())
    return has_each_once and len(sets) == 1 and len(conditions) > 1 and len(next(iter(sets))) > 1


_LABEL = re.compile(r"(?P<item>\d{1,9})[\s_.\-]*(?P<condition>[^\W\d_][\w\-]{0,19})")
_NAMED = re.compile(r"(?P<item>[\w.:\-]{1,80})[_.:\-](?P<condition>[^\W_]{1,40})")
_ENDING = re.compile(r"\.(txt|wav|mp3|png|jpe?g)$", re.IGNORECASE)


def item_and_condition(label: str) -> tuple[str, str] | None:
    """Split a label such as 12b, 12-match, owl_match or owl.match.txt into item and condition; None for other text."""
    text = _ENDING.sub("", label.strip())
    match = _LABEL.fullmatch(text) or _NAMED.fullmatch(text)
    return (match["item"], match["condition"]) if match else None


def split_labels(sheet: Headed, roles: Sequence[str], reading: Reading) -> list[str]:
    """Split a column with item and condition (12b) into two. Returns the roles. Raises FormatError for other cells."""
    place = roles.index("item_condition")
    first: tuple[str, tuple[str, str]] | None = None
    for row in sheet.body:
        label = unguard(row.cells[place]).strip()
        parts = item_and_condition(label)
        if parts is None and label:
            message, hint = (
                f"“{label[:40]}” is not an item followed by a condition",
                "Write it as 12b, 12-match or owl_match, or delete the row if it is a remark.",
            )
            reading.report.problem(at(row, place, sheet.names), message, hint)
        first = first or ((label, parts) if parts else None)
        row.cells[place], condition = parts or ("", "")
        row.cells.append(condition)
    reading.report.raise_problems()
    sheet.names = [*sheet.names, *[""] * (len(roles) - len(sheet.names)), "condition"]
    if first:
        label, (item, condition) = first
        reading.say(
            f"Column {column_letter(place)} has item and condition: {label[:40]} is item {item}, condition {condition}."
        )
    return ["item" if role == "item_condition" else role for role in roles] + ["condition"]


def join_conditions(sheet: Headed, places: Sequence[int], reading: Reading) -> Crossing | None:
    """Write the condition, named after the levels of all factors, into the first of several condition columns."""
    if len(places) < 2:
        return None
    names = [sheet.names[k] or f"Column {column_letter(k)}" for k in places]
    shown = listing([f"{column_letter(k)} “{name}”" for k, name in zip(places, names, strict=True)], 4)
    reading.say(f"Columns {shown} together are the condition, as factors of the design.")
    cells: dict[str, tuple[str, ...]] = {}
    for row in sheet.body:
        levels = tuple(tidy(unguard(row.cells[k])) for k in places)
        joined = condition_name(levels) if all(levels) else ""
        row.cells[places[0]] = joined
        if joined:
            cells[joined] = levels
    return Crossing(tuple(names), cells)


def with_crossing(document: SuiteDocument, crossing: Crossing, reading: Reading) -> SuiteDocument:
    """Add the factors to a document whose conditions may have been renamed or left out."""
    renamed = {reading.options.conditions.get(name, name): cell for name, cell in crossing.cells.items()}
    cells = {name: cell for name, cell in renamed.items() if name in document.conditions}
    factors = [
        {
            "name": name,
            "levels": list(dict.fromkeys(cell[k] for cell in cells.values())),
            "conditions": {condition: cell[k] for condition, cell in cells.items()},
        }
        for k, name in enumerate(crossing.names)
    ]
    try:
        return with_factors(document, factors)
    except DesignError as error:
        reading.say(f"The factors were not kept: {error.message}")
        return document
