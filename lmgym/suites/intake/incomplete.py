"""Rows of a sheet without a condition: merged cells, and remarks below or between the sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lmgym.suites.columns import metadata_heading
from lmgym.suites.formats.tables import Row
from lmgym.suites.headings import pair_of, roles_of
from lmgym.suites.intake.header import Headed
from lmgym.suites.intake.parsing import CONDITION_TEXT, DATA, SKIP, TEXT, Choice, column_letter
from lmgym.suites.intake.reading import Reading, at, first_places
from lmgym.text import listing, quoted

_LONG = frozenset({"region", "name", "content"})


def settle_incomplete_rows(sheet: Headed, reading: Reading) -> None:
    """Ask about rows that are no sentences or have no condition, and leave them out or fill them, as the user says.
    Merged cells of a sheet with one row per region are filled later, within an item."""
    roles = _roles(sheet, reading)
    items, conditions = ([k for k, role in enumerate(roles) if role == one] for one in ("item", "condition"))
    if not items or not conditions or CONDITION_TEXT in roles:
        return
    is_long = bool(_LONG & set(roles))
    others = [k for k, role in enumerate(roles) if role not in ("item", "condition", DATA, SKIP)]
    used = {tuple(_cells(row, conditions)) for row in sheet.body if any(_cells(row, others))}
    used.discard(("",) * len(conditions))
    remarks: list[Row] = []
    rest: list[Row] = []
    for row in sheet.body:
        item, condition, text = (_cells(row, places) for places in (items, conditions, others))
        is_remark = tuple(condition) not in used and _is_remark(item, condition, text, is_long=is_long)
        (remarks if is_remark else rest).append(row)
    sheet.body = rest
    merged = [] if is_long else _merged(rest, items, conditions, others)
    if merged and reading.options.incomplete != "out" and not _can_be_filled(merged, rest, items, conditions):
        _refuse(merged, conditions, sheet, reading)
        merged = []
    if not merged and not remarks:
        return
    answer = _ask(merged, remarks, reading)
    if answer == "fill" and merged:
        _fill(merged, rest, conditions)
        columns = listing([column_letter(k) for k in conditions])
        lines = first_places("row", [row.line for row in merged])
        reading.say(
            f"Conditions (column {columns}) are filled with the one above, as in merged cells: {lines}."
        )
    left_out = {id(row): row.line for row in [*remarks, *(merged if answer == "out" else ())]}
    sheet.body = [row for row in rest if id(row) not in left_out]
    if answer and left_out:
        reading.say(f"Not read: {first_places('row', sorted(left_out.values()))}.")


def _roles(sheet: Headed, reading: Reading) -> Sequence[str]:
    """Return the roles that the user chose or, of a sheet with items and conditions, those that headings name."""
    if chosen := reading.options.columns:
        return [chosen.get(column_letter(k), SKIP) for k in range(sheet.width)]
    if pair_of(sheet.names):
        return []
    names = sheet.names + [""] * (sheet.width - len(sheet.names))
    roles = roles_of(names, sheet.columns())
    return [
        role or (DATA if metadata_heading(name) else TEXT) for role, name in zip(roles, names, strict=True)
    ]


def _cells(row: Row, places: Sequence[int]) -> list[str]:
    return [row.cells[k].strip() if k < len(row.cells) else "" for k in places]


def _is_remark(item: Sequence[str], condition: Sequence[str], text: Sequence[str], *, is_long: bool) -> bool:
    """Return whether a row has a label in place of the item or condition and no text, or a single cell of text. A row
    with a numbered item and a condition is a sentence that lacks its text."""
    labels, n_texts = any(item) + any(condition), sum(map(bool, text))
    if labels == 2:
        return not n_texts and not any(cell[0].isdigit() for cell in item if cell)
    return labels + n_texts == 1 and (labels == 1 or not is_long)


def _merged(
    rows: Sequence[Row], items: Sequence[int], conditions: Sequence[int], others: Sequence[int]
) -> list[Row]:
    """Return the rows with text and without a condition. Leaves out those of fillers: no row of their item has a
    condition, and with the one above each they would not be conditions of one item."""
    keys = _filled_keys(rows, items, conditions)
    n_of = Counter(keys)
    by_item: dict[tuple[str, ...], list[tuple[Row, tuple[str, ...]]]] = {}
    for row, key in zip(rows, keys, strict=True):
        by_item.setdefault(key[: len(items)], []).append((row, key))
    fillers = {
        id(row)
        for group in by_item.values()
        if not any(all(_cells(row, conditions)) for row, _ in group)
        and (len(group) == 1 or any(n_of[key] > 1 or not all(key) for _, key in group))
        for row, _ in group
    }
    return [
        row
        for row in rows
        if not all(_cells(row, conditions)) and any(_cells(row, others)) and id(row) not in fillers
    ]


def _can_be_filled(
    merged: Sequence[Row], rows: Sequence[Row], items: Sequence[int], conditions: Sequence[int]
) -> bool:
    """Return whether these rows have an item and condition of their own after empty cells are filled from above."""
    keys = _filled_keys(rows, items, conditions)
    n_of, ids = Counter(keys), set(map(id, merged))
    return all(n_of[key] == 1 and all(key) for row, key in zip(rows, keys, strict=True) if id(row) in ids)


def _filled_keys(
    rows: Sequence[Row], items: Sequence[int], conditions: Sequence[int]
) -> list[tuple[str, ...]]:
    """Return item and condition of each row after empty cells are filled from above."""
    keys: list[tuple[str, ...]] = []
    last = ("",) * (len(items) + len(conditions))
    for row in rows:
        last = tuple(
            cell or above for cell, above in zip(_cells(row, [*items, *conditions]), last, strict=True)
        )
        keys.append(last)
    return keys


def _fill(merged: Sequence[Row], rows: Sequence[Row], places: Sequence[int]) -> None:
    ids = set(map(id, merged))
    last = dict.fromkeys(places, "")
    for row in rows:
        row.cells += [""] * (max(places) + 1 - len(row.cells))
        for k in places:
            last[k] = row.cells[k].strip() or last[k]
            if id(row) in ids:
                row.cells[k] = last[k]


def _refuse(rows: Sequence[Row], conditions: Sequence[int], sheet: Headed, reading: Reading) -> None:
    """Report empty conditions that cannot be filled from above, because an item would have a condition twice."""
    hint = "Write the condition here. It cannot be the one above, which the item has already or which is empty too."
    for row in rows:
        place = next(k for k in conditions if not any(_cells(row, [k])))
        reading.report.problem(at(row, place, sheet.names), "the condition is empty", hint)


def _ask(merged: Sequence[Row], remarks: Sequence[Row], reading: Reading) -> str:
    """Return "fill", "out" or, if the user has to answer first, "". Remarks are left out by either answer."""
    rows = merged or remarks
    places = first_places("row", [row.line for row in rows])
    if merged:
        verb = "has" if len(merged) == 1 else "have"
        message = f"{places} {verb} no condition"
        fill = "Merged cells: fill in the condition above"
        if remarks:
            fill += f", and leave out {first_places('row', [row.line for row in remarks])}, without text"
        answers = [("fill", fill), ("out", "Leave these rows out")]
        hint = "Fill in the condition above, if cells are merged, or leave the rows out."
    else:
        shown = quoted(next(cell.strip() for cell in rows[0].cells if cell.strip())[:60])
        if len(rows) == 1:
            message = f"{places} looks like a remark, not a sentence: {shown}"
            hint = "Leave it out, or give it an item, a condition and text."
        else:
            message = f"{places} look like remarks, not sentences, such as {shown}"
            hint = "Leave them out, or give each an item, a condition and text."
        answers = [("out", "Leave out")]
        if reading.options.incomplete == "fill":
            return "fill"
    choice = Choice("incomplete", f"{message[:1].upper()}{message[1:]}", answers, answers[0][0])
    return reading.choose(choice, "sheet", message, hint)
