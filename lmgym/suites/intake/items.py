"""Items of a sheet: merged cells, labels instead of numbers, repetitions over lists, and fillers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from lmgym.suites.formats.documents import MAX_ITEM_NUMBER, MAX_REGIONS
from lmgym.suites.formats.tables import Row, Table
from lmgym.suites.intake.header import Headed
from lmgym.suites.intake.parsing import CHOICES, ROLES, Choice, column_letter
from lmgym.suites.intake.reading import Reading, at, first_places, text_places
from lmgym.text import count, listing, tidy, unguard

SINGLE_CONDITION = "sentence"
"""Name of the condition of a sheet without conditions."""
DESIGNS = CHOICES["fillers"][2:]
"""Answers that choose one of several experiments."""
_LONGEST_DATA = 200
NUMBER = re.compile(r"[0-9]{1,9}(\.0+)?\Z")
_FILLER = re.compile(
    r"fill(er)?s?([\s_-].*|\d+)?|practi[cs]e.*|training|exercise|warm[\s_-]?up|catch([\s_-].*)?|instructions?|intro|"
    r"distractors?|übung.*",
    re.IGNORECASE,
)
"""Conditions of trials that are not part of the design, by name."""


def drop_empty_rows(table: Table, reading: Reading) -> None:
    """Leave out rows that have neither item, condition nor text, such as instructions between trials."""
    fixed = [table.roles[role] for role in ("item", "condition")]
    others = text_places(table)
    empty = [row for row in table.rows if not any(row.cells[k].strip() for k in (*fixed, *others))]
    if empty:
        places = first_places("row", [row.line for row in empty])
        reading.say(f"{count(len(empty), 'row')} without an item, condition or text: not read ({places}).")
        left_out = set(map(id, empty))
        table.rows = [row for row in table.rows if id(row) not in left_out]


def fill_merged(table: Table, roles: Iterable[str], reading: Reading) -> None:
    """Fill empty cells with the value above, as in merged cells; a condition is not carried over to another item."""
    filled: dict[str, list[int]] = {}
    last: dict[str, str] = {}
    for row in table.rows:
        for role in roles:
            place = table.roles[role]
            value = row.cells[place].strip()
            if value:
                if role == "item" and value != last.get("item"):
                    last.pop("condition", None)
                last[role] = value
            elif role in last:
                row.cells[place] = last[role]
                filled.setdefault(role, []).append(row.line)
    for role, lines in filled.items():
        column = column_letter(table.roles[role])
        reading.say(
            f"Column {column} is empty in {count(len(lines), 'row')} ({first_places('row', lines)}): treated as merged "
            f"cells and filled with the {ROLES[role]} above."
        )


def number_groups(sheet: Headed, roles: Sequence[str], reading: Reading) -> list[str]:
    """Add an item column to a sheet that has none: an item begins when a condition is repeated. Returns the roles."""
    places = [k for k, role in enumerate(roles) if role == "condition"]
    number, seen = 1, set[tuple[str, ...]]()
    for row in sheet.body:
        condition = tuple(row.cells[k].strip() for k in places)
        if condition in seen:
            number, seen = number + 1, set()
        seen.add(condition)
        row.cells.append(str(number))
    sheet.names = [*sheet.names, *[""] * (len(roles) - len(sheet.names)), "item"]
    reading.say("No item numbers: a new item begins when a condition is repeated.")
    return [*roles, "item"]


def single_condition(sheet: Headed, roles: Sequence[str], reading: Reading) -> list[str]:
    """Add a column with the only condition to a sheet that has none, and an item column if it has none. Returns the
    roles."""
    places = [k for k, role in enumerate(roles) if role == "item"]
    labels = [tuple(row.cells[k].strip() for k in places) for row in sheet.body]
    if places and len(set(labels)) < len(labels):
        reading.say("The item column has repeated values, so each row is an item.")
        roles = ["data" if role == "item" else role for role in roles]
    added = ["condition"] if "item" in roles else ["condition", "item"]
    width = len(roles)
    for number, row in enumerate(sheet.body, start=1):
        row.cells += [""] * (width - len(row.cells)) + [SINGLE_CONDITION, str(number)][: len(added)]
    sheet.names = [*sheet.names, *[""] * (width - len(sheet.names)), *added]
    reading.say(
        "There is one condition, so no conditions can be compared: results are surprisals of the sentences and their "
        "regions."
    )
    if len(added) > 1:
        reading.say("Items are numbered in the order of rows.")
    return [*roles, *added]


def number_items(table: Table, reading: Reading) -> None:
    """Check item numbers. If there are labels, number the items in the order of their first row and keep the labels as
    item data."""
    place = table.roles["item"]
    labels = dict.fromkeys(unguard(row.cells[place]).strip() for row in table.rows)
    labels.pop("", None)
    numbers = {label: str(n) for n, label in enumerate(labels, start=1)}
    are_labels = any(not _is_number(label) for label in labels)
    if not are_labels:
        numbers = {label: str(int(label.split(".")[0])) for label in labels}
    else:
        first = listing([f"“{label[:40]}”" for label in labels], 3)
        reading.say(
            f"Items have labels ({first}): numbered in this order, with the label kept as item data “item”."
        )
    data: dict[str, dict[str, Any]] = {}
    for label, number in numbers.items():
        own = {"item": label} if are_labels else {}
        if kept := own | reading.item_data.get(label, {}):
            data[number] = kept | own
    reading.item_data = data
    for row in table.rows:
        label = unguard(row.cells[place]).strip()
        if label:
            row.cells[place] = numbers[label]
            continue
        hint = f"Write a whole number of at most {MAX_ITEM_NUMBER:,}, or a label."
        reading.report.problem(at(row, place, table.header), f"the {ROLES['item']} is empty", hint)


def _is_number(text: str) -> bool:
    return bool(NUMBER.match(text)) and int(float(text)) <= MAX_ITEM_NUMBER


def check_cells(table: Table, reading: Reading) -> None:
    """Check region numbers, and that each row has a condition."""
    for row in table.rows:
        place = table.roles.get("region")
        if place is not None:
            value = row.cells[place].strip()
            if NUMBER.match(value) and int(float(value)) <= MAX_REGIONS:
                row.cells[place] = value.split(".")[0]
            else:
                shown = f"“{value[:40]}”" if value else "empty"
                hint = f"Write a whole number of at most {MAX_REGIONS:,}."
                reading.report.problem(
                    at(row, place, table.header), f"the {ROLES['region']} is {shown}", hint
                )
        place = table.roles["condition"]
        if not row.cells[place].strip():
            message, hint = "the condition is empty", "Fill in the condition's name in every row."
            reading.report.problem(at(row, place, table.header), message, hint)


# --- fillers ---


def leave_out_fillers(table: Table, reading: Reading) -> None:
    """Ask once about items with none of the usual conditions and about conditions named like fillers, and leave them
    out if the user says so."""
    item, condition = table.roles["item"], table.roles["condition"]
    names: dict[str, dict[str, None]] = {}
    for row in table.rows:
        if label := row.cells[item].strip():  # an empty one is reported later
            names.setdefault(label, {})[row.cells[condition].strip()] = None
    if designs := _designs(names.values()):
        names = _one_design(table, names, designs, reading)
    usual = _usual(names.values())
    strange = {
        label
        for label, conditions in names.items()
        if all(map(_FILLER.fullmatch, conditions)) or (usual and not usual & set(conditions))
    }
    if len(strange) == len(names):
        return
    others = {name for label in names if label not in strange for name in names[label]} - usual
    extra = {name for name in others if _FILLER.fullmatch(name)}
    if not strange and not extra:
        return
    conditions = sorted({name for label in strange for name in names[label]} | extra)
    shown = listing([f"“{name}”" if name else "none" for name in conditions], 6)
    which = (
        f"items {_ranges(strange)}"
        if len(strange) > 1
        else f"item {next(iter(strange))}"
        if strange
        else "some items"
    )
    verb = "has" if len(strange) == 1 else "have"
    message = f"{which} {verb} different conditions from most items: {shown}"
    choice = Choice(
        "fillers",
        f"{message[:1].upper()}{message[1:]}",
        [("out", "Leave them out"), ("keep", "Keep them; every item then needs the same conditions")],
        "out",
    )
    answer = reading.choose(
        choice, "sheet", message, "Leave them out, for example if they are fillers or practice trials."
    )
    if answer != "out":
        return
    before = len(table.rows)
    table.rows = [
        row
        for row in table.rows
        if row.cells[item].strip() not in strange and row.cells[condition].strip() not in extra
    ]
    reading.say(f"Left out: {which} ({shown}; {count(before - len(table.rows), 'row')}).")


def _designs(names: Collection[dict[str, None]]) -> list[frozenset[str]]:
    """Return the conditions of each of several experiments in a table: no item has conditions of two of them, and each
    has at least two conditions. Otherwise, and for a single experiment, return []."""
    groups: list[set[str]] = []
    for conditions in names:
        own = {name for name in conditions if name and not _FILLER.fullmatch(name)}
        joined = [group for group in groups if group & own]
        groups = [group for group in groups if not group & own] + [own.union(*joined)]
    designs = [frozenset(group) for group in groups if len(group) > 1]
    return designs if len(designs) > 1 else []


def _one_design(
    table: Table, names: dict[str, dict[str, None]], designs: Sequence[frozenset[str]], reading: Reading
) -> dict[str, dict[str, None]]:
    """Ask which of several experiments is read, and leave the others out. Returns the conditions of the items left."""
    shown = designs[: len(DESIGNS)]
    answers = []
    for number, design in zip(DESIGNS, shown, strict=False):
        size = sum(bool(design & set(conditions)) for conditions in names.values())
        answers.append(
            (number, f"Only the {count(size, 'item')} with {listing([f'“{n}”' for n in sorted(design)], 6)}")
        )
    answers.append(("keep", "Keep all; every item then needs the same conditions"))
    message = f"the items are of {len(designs)} experiments with different conditions"
    choice = Choice("fillers", f"{message[:1].upper()}{message[1:]}", answers)
    answer = reading.choose(choice, "sheet", message, "Choose one; read the others as suites of their own.")
    if answer not in DESIGNS:
        reading.report.raise_problems()
        return names
    design = shown[DESIGNS.index(answer)]
    item, condition, before = table.roles["item"], table.roles["condition"], len(table.rows)
    table.rows = [row for row in table.rows if row.cells[condition].strip() in design]
    left = before - len(table.rows)
    reading.say(
        f"Read only the items with {listing([f'“{n}”' for n in sorted(design)], 6)}: {count(left, 'row')} left out."
    )
    kept = {row.cells[item].strip() for row in table.rows}
    return {label: conditions for label, conditions in names.items() if label in kept}


def _usual(names: Collection[dict[str, None]]) -> frozenset[str]:
    """Return the most frequent set of conditions, apart from those named like fillers; an empty set unless more than
    half of the items with a condition have at least one of them."""
    named = [[name for name in conditions if name] for conditions in names]
    sets = Counter(
        frozenset(name for name in conditions if not _FILLER.fullmatch(name)) for conditions in named
    )
    sets.pop(frozenset(), None)
    usual = max(sets, key=lambda names: (sets[names], len(names)), default=frozenset())
    n_usual = sum(bool(usual & set(conditions)) for conditions in named)
    return usual if 2 * n_usual > sum(map(bool, named)) else frozenset()


def _ranges(labels: Iterable[str]) -> str:
    """List labels, with consecutive numbers as ranges: “101–140, 150”."""
    listed = list(labels)
    if not all(map(_is_number, listed)):
        return listing([f"“{label[:40]}”" for label in listed], 6)
    numbers = sorted(int(float(label)) for label in listed)
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number == groups[-1][-1] + 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    return listing([f"{g[0]}–{g[-1]}" if len(g) > 1 else str(g[0]) for g in groups], 6)


# --- lists ---


def merge_lists(sheet: Headed, roles: Sequence[str], reading: Reading) -> None:
    """Merge rows of a wide sheet with the same item, condition and text that differ in other columns, such as the
    list."""
    fixed = [k for k, role in enumerate(roles) if role in ("item", "condition")]
    texts = [k for k, role in enumerate(roles) if role == "text"]
    rest = [k for k in range(len(roles)) if k not in fixed and k not in texts]
    data = [k for k, role in enumerate(roles) if role == "data"]
    first: dict[tuple[str, ...], Row] = {}
    kept, repeated = [], []
    for row in sheet.body:
        key = tuple(row.cells[k].strip() for k in fixed)
        earlier = first.setdefault(key, row) if all(key) else row
        if earlier is row or not any(row.cells[k] != earlier.cells[k] for k in rest):
            kept.append(row)
        elif all(tidy(row.cells[k]) == tidy(earlier.cells[k]) for k in texts):
            repeated.append(row.line)
            _join_data(data, earlier, row)
        else:
            kept.append(row)  # the reader reports it, naming both rows
    if repeated:
        reading.say(
            f"{count(len(repeated), 'row')} ({first_places('row', repeated)}) with the sentence of an earlier row, for "
            "example in another list: read once."
        )
        sheet.body = kept


def _join_data(places: Sequence[int], row: Row, other: Row) -> None:
    """Add the item data of a repeated row to the first one, unless a cell is long already."""
    for k in places:
        if (
            len(row.cells[k]) < _LONGEST_DATA
            and other.cells[k]
            and other.cells[k] not in row.cells[k].split("; ")
        ):
            row.cells[k] = "; ".join(filter(None, (row.cells[k], other.cells[k])))
