"""Edits made on an older draft, moved onto what others did meanwhile.

Regions are named by number and conditions by name, so an edit has to follow the insertions, deletions, moves and
renames of others, or it would hit the neighbour's cell. Whether a cell's text still stands is asked later, by `old`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suites.formats.documents import MAX_REGIONS

from .read import Op
from .references import move_regions, rename_condition_in

Lost = tuple[int, list[Any]]
"""(index of the op, cell) of a cell whose item, condition or region somebody deleted."""


@dataclass(frozen=True)
class Shift:
    """Where one op of somebody else leaves items, conditions and regions."""

    over: Op

    def item(self, number: int) -> int | None:
        op = self.over
        if op["op"] == "delete_items" and number in op["items"]:
            return None
        return int(op["to"]) if op["op"] == "renumber_item" and op["item"] == number else number

    def condition(self, name: str) -> str | None:
        op = self.over
        if op.get("name") == name and op["op"] == "delete_condition":
            return None
        return str(op["to"]) if op["op"] == "rename_condition" and op["name"] == name else name

    def region(self, number: int) -> int | None:
        op = self.over
        if op["op"] == "insert_region":
            return number + int(number >= op["at"])
        if op["op"] == "delete_region":
            return None if number == op["region"] else number - int(number > op["region"])
        if op["op"] == "move_region":
            return _moved(number, op["region"], op["to"])
        return number

    def row(self, texts: Sequence[str]) -> list[str]:
        """A new row's cells, one per region of the older draft, for the regions of the newer one."""
        cells = list(texts)
        op = self.over
        if op["op"] == "insert_region":
            cells.insert(op["at"] - 1, "")
        elif op["op"] == "delete_region":
            del cells[op["region"] - 1 : op["region"]]
        elif op["op"] == "move_region":
            cells.insert(op["to"] - 1, cells.pop(op["region"] - 1))
        return cells

    def formula(self, text: str) -> str:
        op = self.over
        if op["op"] == "rename_condition":
            return rename_condition_in(text, op["name"], op["to"])
        if op["op"] in ("insert_region", "delete_region", "move_region"):
            return move_regions(text, {number: self.region(number) for number in range(1, MAX_REGIONS + 2)})
        return text


def _moved(number: int, region: int, to: int) -> int:
    if number == region:
        return to
    return number - (region < number <= to) + (to <= number < region)


def transform(mine: Sequence[Op], theirs: Sequence[Op]) -> tuple[list[Op], list[Op], list[Lost]]:
    """Both lists start from the same draft. Returns mine as to be done after theirs, theirs as after mine, and the
    cells of mine that have no place any more."""
    lost: list[Lost] = []
    others = list(theirs)
    moved: list[Op] = []
    for index, op in enumerate(mine):
        current: Op | None = op
        following: list[Op] = []
        for other in others:
            after = _shift(other, current, None, index) if current is not None else other
            if current is not None:
                current = _shift(current, other, lost, index)
            if after is not None:
                following.append(after)
        others = following
        if current is not None:
            moved.append(current)
    return moved, others, lost


def _shift(op: Op, over: Op, lost: list[Lost] | None, index: int) -> Op | None:
    """`op` after `over`; None when nothing is left to do, because its target is gone."""
    shift = Shift(over)
    match op["op"]:
        case "set_cells":
            return _cells(op, shift, lost, index)
        case "insert_items":
            items = [{**one, "rows": _rows(one.get("rows", {}), shift)} for one in op.get("items", [])]
            return {
                **op,
                "items": items,
                "at": _place(op["at"], over, "insert_items", len(over.get("items", []))),
            }
        case "delete_items":
            left = [new for number in op["items"] if (new := shift.item(number)) is not None]
            return {**op, "items": left} if left else None
        case "move_item" | "renumber_item":
            item = shift.item(op["item"])
            return None if item is None else {**op, "item": item}
        case "insert_condition":
            rows = {
                str(item): shift.row(row)
                for key, row in op.get("rows", {}).items()
                if (item := shift.item(int(key))) is not None
            }
            return {**op, "rows": rows, "at": _place(op["at"], over, "insert_condition", 1)}
        case "delete_condition" | "move_condition" | "rename_condition":
            name = shift.condition(op["name"])
            return None if name is None else {**op, "name": name}
        case "insert_region":
            texts = [
                [item, name, text]
                for number, condition, text in op.get("texts", [])
                if (item := shift.item(number)) is not None
                and (name := shift.condition(condition)) is not None
            ]
            return {**op, "texts": texts, "at": _region_place(op["at"], shift)}
        case "delete_region" | "rename_region":
            region = shift.region(op["region"])
            return None if region is None else {**op, "region": region}
        case "move_region":
            region = shift.region(op["region"])
            return None if region is None else {**op, "region": region, "to": _region_goal(op["to"], shift)}
        case "set_predictions":
            lists = {
                key: [_prediction(p, shift) for p in op[key]] for key in ("predictions", "old") if key in op
            }
            return {**op, **lists}
    return op


def _cells(op: Op, shift: Shift, lost: list[Lost] | None, index: int) -> Op:
    kept = []
    for cell in op["cells"]:
        place = shift.item(cell[0]), shift.condition(cell[1]), shift.region(cell[2])
        if None in place:
            if lost is not None:
                lost.append((index, list(cell)))
        else:
            kept.append([*place, *cell[3:]])
    return {**op, "cells": kept}


def _rows(rows: Mapping[str, Sequence[str]], shift: Shift) -> dict[str, list[str]]:
    return {
        new: shift.row(texts) for name, texts in rows.items() if (new := shift.condition(name)) is not None
    }


def _place(at: int, over: Op, kind: str, length: int) -> int:
    """An index among items or conditions; what falls behind the end is brought back when the op is done."""
    return at + length if over["op"] == kind and over["at"] < at else at


def _region_place(at: int, shift: Shift) -> int:
    """The number that a new region will have: 1 to one more than there are."""
    op = shift.over
    if op["op"] == "insert_region":
        return at + int(op["at"] < at)
    if op["op"] == "delete_region":
        return at - int(op["region"] < at)
    return at


def _region_goal(to: int, shift: Shift) -> int:
    """The number that a moved region will have: 1 to as many as there are."""
    op = shift.over
    if op["op"] == "insert_region":
        return to + int(op["at"] <= to)
    if op["op"] == "delete_region":
        return max(1, to - int(op["region"] <= to))
    return to


def _prediction(prediction: Mapping[str, Any], shift: Shift) -> dict[str, Any]:
    return {**prediction, "formula": shift.formula(prediction.get("formula", ""))}
