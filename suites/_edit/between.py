"""The ops that make one document of another: for editors that send back the whole sheet."""

from __future__ import annotations

from typing import Any

from suites.formats.documents import SuiteDocument

from .references import move_regions


def ops_between(old: SuiteDocument, new: SuiteDocument) -> list[dict[str, Any]] | None:
    """Ops from `old` to the sentences and region names of `new`.

    None when columns or conditions came, went or changed places, or items changed their order: then the sheet is
    another one, and is replaced as a whole.
    """
    if old.conditions != new.conditions or len(old.region_names) != len(new.region_names):
        return None
    renamed = [k for k, name in enumerate(new.region_names) if name != old.region_names[k]]
    if {new.region_names[k] for k in renamed} & {old.region_names[k] for k in renamed}:
        return None
    kept = [item for item in new.items if item in set(old.items)]
    gone = [item for item in old.items if item not in set(new.items)]
    if kept != [item for item in old.items if item not in set(gone)]:
        return None
    ops: list[dict[str, Any]] = [
        {"op": "rename_region", "region": k + 1, "to": new.region_names[k]} for k in renamed
    ]
    before, after = old.table(), new.table()
    cells = [
        [item, condition, k + 1, before[item, condition].contents[k], text]
        for (item, condition), sentence in after.items()
        if (item, condition) in before
        for k, text in enumerate(sentence.contents)
        if before[item, condition].contents[k] != text
    ]
    ops += [{"op": "set_cells", "cells": cells}] if cells else []
    ops += [{"op": "delete_items", "items": gone}] if gone else []
    known = set(kept)
    for at, item in enumerate(new.items):
        if item not in known:
            rows = {condition: list(after[item, condition].contents) for condition in new.conditions}
            ops.append({"op": "insert_items", "at": at, "items": [{"number": item, "rows": rows}]})
    return ops


def rename_ops(
    document: SuiteDocument, regions: list[str], conditions: list[str], rewrite: Any
) -> list[dict[str, Any]]:
    """Ops that give regions and conditions these names, and formulas the conditions' new names.

    Names that change places go through names that nobody has. `rewrite(formula, old, new)` renames a condition.
    """
    ops: list[dict[str, Any]] = [
        {"op": "rename_region", "region": number, "to": name}
        for number, name in enumerate(regions, start=1)
        if name != document.region_names[number - 1]
    ]
    changed = [(old, new) for old, new in zip(document.conditions, conditions, strict=True) if old != new]
    if not changed:
        return ops
    steps = [(old, f"{new} (new {place})") for place, (old, new) in enumerate(changed)]
    steps += [(away, new) for (_, away), (_, new) in zip(steps, changed, strict=True)]
    if not {new for _, new in changed} & {old for old, _ in changed}:
        steps = changed
    ops += [{"op": "rename_condition", "name": old, "to": new} for old, new in steps]
    before = [_said(p.name, p.description, p.formula) for p in document.predictions]
    after = [dict(one) for one in before]
    for one in after:
        for old, new in steps:
            one["formula"] = rewrite(one["formula"], old, new)
    if after != before:
        ops.append({"op": "set_predictions", "old": before, "predictions": after})
    return ops


def _said(name: str, description: str, formula: str) -> dict[str, str]:
    return {"name": name, "description": description, "formula": formula}


def carried_over(old: SuiteDocument, new: SuiteDocument, pairs: list[tuple[int, int]]) -> list[str]:
    """The old formulas for a sheet whose columns moved: `pairs` are (old place, new place) of the regions that stay."""
    places: dict[int, int | None] = dict.fromkeys(range(1, len(old.region_names) + 1))
    places |= {a + 1: b + 1 for a, b in pairs}
    return [move_regions(prediction.formula, places) for prediction in old.predictions]
