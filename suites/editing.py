"""Editing a suite document: the ops of docs/grid.md on `SuiteDocument`. Pure.

`apply` is strict: every op fits, or `EditError` is raised and nothing is changed. `apply_fitting` leaves out the
cells that somebody else changed meanwhile and reports them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from suites._edit import read
from suites._edit.between import carried_over, ops_between, rename_ops
from suites._edit.errors import CellConflict, EditError
from suites._edit.read import Op, clean_name, clean_text
from suites._edit.references import move_regions, rename_condition_in, without_region
from suites._edit.sheet import Sheet, said
from suites.formats.documents import MAX_NAME_CHARACTERS, MAX_PREDICTIONS, PredictionDoc, SuiteDocument

__all__ = [
    "STRUCTURAL",
    "CellConflict",
    "EditError",
    "Sheet",
    "apply",
    "apply_fitting",
    "carried_over",
    "clean_name",
    "clean_text",
    "edit_sheet",
    "is_structural",
    "move_regions",
    "ops_between",
    "read_cell",
    "rename_condition_in",
    "rename_ops",
    "without_region",
]

MAX_FORMULA_CHARACTERS = 10_000
MAX_PLACE = 1_000_000


def apply(document: SuiteDocument, ops: Sequence[Op]) -> SuiteDocument:
    """The document after these ops, all of them. Raises `EditError`; the document given is never changed."""
    sheet = Sheet(document)
    edit_sheet(sheet, ops)
    return sheet.document()


def apply_fitting(document: SuiteDocument, ops: Sequence[Op]) -> tuple[SuiteDocument, list[CellConflict]]:
    """As `apply`, but cells whose `old` does not stand any more keep their text and are reported."""
    sheet = Sheet(document, lenient=True)
    conflicts = edit_sheet(sheet, ops)
    return sheet.document(), conflicts


def edit_sheet(sheet: Sheet, ops: Sequence[Op]) -> list[CellConflict]:
    """Do the ops on an open sheet. After an `EditError` the sheet may be half changed: throw it away.

    A lenient sheet leaves out cells that do not hold what the editor saw, and brings places behind the end back to it.
    """
    conflicts: list[CellConflict] = []
    for index, op in enumerate(ops):
        name = op.get("op") if isinstance(op, dict) else None
        do = _OPS.get(name) if isinstance(name, str) else None
        if do is None:
            raise EditError(f"op {index}", f"there is no op called {name!r:.40}")
        found: list[CellConflict] = []
        try:
            do(sheet, op, found)
        except EditError as error:
            raise EditError(f"op {index}, {name}", error.message) from None
        if found and not sheet.lenient:
            first = found[0]
            where = f"item {first.item}, {first.condition}, region {first.region}"
            message = f"{where} holds “{first.theirs:.60}”, not “{first.old:.60}”"
            raise EditError(f"op {index}, {name}", message)
        conflicts += [CellConflict(index, *_fields(one)) for one in found]
    return conflicts


def _fields(one: CellConflict) -> tuple[int, str, int, str, str, str]:
    return one.item, one.condition, one.region, one.old, one.yours, one.theirs


def _place(sheet: Sheet, op: Op, key: str, low: int, high: int) -> int:
    """Where something goes: an index, or a region's new number."""
    if sheet.lenient:
        return max(low, min(high, read.whole(op, key, -MAX_PLACE, MAX_PLACE)))
    return read.whole(op, key, low, high)


def _set_cells(sheet: Sheet, op: Op, found: list[CellConflict]) -> None:
    for cell in read.list_of(op, "cells"):
        item, condition, region, old, new = read_cell(cell)
        row = sheet.row(item, condition)
        if not 1 <= region <= len(sheet.regions):
            raise EditError("", f"there is no region {region}")
        now = row.contents[region - 1]
        if now == new:
            continue
        if now != old:
            found.append(CellConflict(0, item, condition, region, old, new, now))
        else:
            row.put(region, new)


def read_cell(cell: object) -> tuple[int, str, int, str, str]:
    """`[item, condition, region, old, new]`, with the texts as they are kept."""
    if not isinstance(cell, list) or len(cell) != 5 or not isinstance(cell[1], str):
        raise EditError("", "a cell is written [item, condition, region, old, new]")
    item, condition, region, old, new = cell
    if not isinstance(region, int) or isinstance(region, bool):
        raise EditError("", f"{region!r:.40} is not a region number")
    return read.item_number(item), condition, region, clean_text(old), clean_text(new)


def _insert_items(sheet: Sheet, op: Op, found: list[CellConflict]) -> None:
    at = _place(sheet, op, "at", 0, len(sheet.rows))
    new: dict[int, dict[str, list[str]]] = {}
    for given in read.list_of(op, "items"):
        if not isinstance(given, dict):
            raise EditError("", "an item is written {number, rows}")
        number, rows = read.item_number(given.get("number")), read.mapping_of(given, "rows")
        unknown = [name for name in rows if name not in sheet.conditions]
        if unknown:
            raise EditError("", f"there is no condition “{unknown[0]:.60}”")
        if number in new:
            raise EditError("", f"item {number} is given twice")
        new[number] = {name: read.texts(rows.get(name), len(sheet.regions)) for name in sheet.conditions}
    sheet.insert_items(at, new)


def _delete_items(sheet: Sheet, op: Op, found: list[CellConflict]) -> None:
    sheet.delete_items([read.item_number(number) for number in read.list_of(op, "items")])


def _item(sheet: Sheet, op: Op) -> int:
    item = read.item_number(op.get("item"))
    if item not in sheet.rows:
        raise EditError("", f"there is no item {item}")
    return item


def _move_item(sheet: Sheet, op: Op, found: list[CellConflict]) -> None:
    item = _item(sheet, op)
    sheet.move_item(item, _place(sheet, op, "to", 0, len(sheet.rows) - 1))


def _renumber_item(sheet: Sheet, op: Op, found: list[CellConflict]) -> None:
    sheet.renumber_item(_item(sheet, op), read.item_number(op.get("to")))


def _condition(sheet: Sheet, op: Op) -> str:
    name = op.get("name")
    if not isinstance(name, str) or name not in sheet.conditions:
        raise EditError("", f"there is no condition “{name!s:.60}”")
    return name


def _free(sheet: Sheet, name: str) -> str:
    if name in sheet.conditions:
        raise EditError("", f"there is a condition “{name:.60}” already")
    return name


def _insert_condition(sheet: Sheet, op: Op, found: list[CellConflict]) -> None:
    at = _place(sheet, op, "at", 0, len(sheet.conditions))
    name = _free(sheet, read.clean_name(op.get("name"), "condition"))
    given = read.mapping_of(op, "rows")
    known = {str(item): item for item in sheet.rows}
    unknown = [key for key in given if key not in known]
    if unknown:
        raise EditError("", f"there is no item {unknown[0]:.20}")
    added = {known[key]: read.texts(row, len(sheet.regions)) for key, row in given.items()}
    names = list(sheet.conditions)
    names.insert(at, name)
    sheet.set_conditions(names, added)


def _delete_condition(sheet: Sheet, op: Op, found: list[CellConflict]) -> None:
    name = _condition(sheet, op)
    if len(sheet.conditions) == 1:
        raise EditError("", "a suite keeps at least one condition")
    sheet.set_conditions([known for known in sheet.conditions if known != name])


def _move_condition(sheet: Sheet, op: Op, found: list[CellConflict]) -> None:
    name = _condition(sheet, op)
    to = _place(sheet, op, "to", 0, len(sheet.conditions) - 1)
    names = [known for known in sheet.conditions if known != name]
    names.insert(to, name)
    sheet.set_conditions(names)


def _rename_condition(sheet: Sheet, op: Op, found: list[CellConflict]) -> None:
    name, to = _condition(sheet, op), read.clean_name(op.get("to"), "condition")
    if to != name:
        sheet.rename_condition(name, _free(sheet, to))


def _insert_region(sheet: Sheet, op: Op, found: list[CellConflict]) -> None:
    at = _place(sheet, op, "at", 1, len(sheet.regions) + 1)
    name = read.clean_name(op.get("name"), "region")
    order: list[int | None] = list(range(1, len(sheet.regions) + 1))
    order.insert(at - 1, None)
    given = read.list_of(op, "texts")
    sheet.set_regions(order, name)
    for cell in given:
        if not isinstance(cell, list) or len(cell) != 3 or not isinstance(cell[1], str):
            raise EditError("", "a text is written [item, condition, text]")
        sheet.row(read.item_number(cell[0]), cell[1]).put(at, clean_text(cell[2]))


def _delete_region(sheet: Sheet, op: Op, found: list[CellConflict]) -> None:
    region = read.whole(op, "region", 1, len(sheet.regions))
    if len(sheet.regions) == 1:
        raise EditError("", "a suite keeps at least one region")
    sheet.set_regions([number for number in range(1, len(sheet.regions) + 1) if number != region])


def _move_region(sheet: Sheet, op: Op, found: list[CellConflict]) -> None:
    count = len(sheet.regions)
    region, to = read.whole(op, "region", 1, count), _place(sheet, op, "to", 1, count)
    order: list[int | None] = [number for number in range(1, count + 1) if number != region]
    order.insert(to - 1, region)
    sheet.set_regions(order)


def _rename_region(sheet: Sheet, op: Op, found: list[CellConflict]) -> None:
    region = read.whole(op, "region", 1, len(sheet.regions))
    sheet.regions[region - 1] = read.clean_name(op.get("to"), "region")


def read_predictions(op: Op, key: str) -> list[PredictionDoc]:
    """`[{name, description, formula}, …]` within the limits of the format."""
    given = read.list_of(op, key)
    if len(given) > MAX_PREDICTIONS:
        raise EditError("", f"a suite has at most {MAX_PREDICTIONS} predictions")
    predictions = []
    for one in given:
        if not isinstance(one, dict):
            raise EditError("", "a prediction is written {name, description, formula}")
        fields = {field: read.text_of(one, field) for field in ("formula", "name", "description")}
        if len(fields["name"]) > MAX_NAME_CHARACTERS:
            raise EditError("", f"a prediction's name has at most {MAX_NAME_CHARACTERS} characters")
        if max(len(fields["formula"]), len(fields["description"])) > MAX_FORMULA_CHARACTERS:
            raise EditError("", f"a formula or description has at most {MAX_FORMULA_CHARACTERS:,} characters")
        predictions.append(PredictionDoc(fields["formula"], fields["name"], fields["description"]))
    return predictions


def _set_predictions(sheet: Sheet, op: Op, found: list[CellConflict]) -> None:
    new = read_predictions(op, "predictions")
    now = [said(one) for one in sheet.predictions]
    seen = op.get("old")
    if seen is not None and [said(one) for one in read_predictions(op, "old")] != now:
        if [said(one) for one in new] == now:
            return
        raise EditError("", "the predictions are not the ones that this edit replaces")
    sheet.set_predictions(new)


_OPS: dict[str, Callable[[Sheet, Any, list[CellConflict]], None]] = {
    "set_cells": _set_cells,
    "insert_items": _insert_items,
    "delete_items": _delete_items,
    "move_item": _move_item,
    "renumber_item": _renumber_item,
    "insert_condition": _insert_condition,
    "delete_condition": _delete_condition,
    "move_condition": _move_condition,
    "rename_condition": _rename_condition,
    "insert_region": _insert_region,
    "delete_region": _delete_region,
    "move_region": _move_region,
    "rename_region": _rename_region,
    "set_predictions": _set_predictions,
}
STRUCTURAL = frozenset(_OPS) - {"set_cells", "set_predictions", "rename_region"}
"""Ops that add, remove, rename or move rows or columns; the others leave rows and keys where they are."""


def is_structural(ops: Sequence[Op]) -> bool:
    """Whether any of the ops is one of `STRUCTURAL`."""
    names = [op.get("op") for op in ops]
    return any(isinstance(name, str) and name in STRUCTURAL for name in names)
