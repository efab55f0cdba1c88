"""Random valid edits of a document, for property tests."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from lmgym.suites.editing import CellConflict, Sheet, edit_sheet
from lmgym.suites.formats import SuiteDocument, read_suite
from tests.lmgym.suites.documents import suite_json

WORDS = st.sampled_from(["", "the cat", "sleeps", "ran", "naïve", "'s", "=1+1", "was eaten", "."])
NAMES = st.sampled_from(["a", "b", "match x", "Ünï", "gap", "no gap", "c-1", "Verb"])


def apply_fitting(document: SuiteDocument, ops: list[Any]) -> tuple[SuiteDocument, list[CellConflict]]:
    sheet = Sheet(document)
    conflicts = edit_sheet(sheet, ops)
    return sheet.document(), conflicts


def apply(document: SuiteDocument, ops: list[Any]) -> SuiteDocument:
    """Apply valid ops and return the document."""
    after, conflicts = apply_fitting(document, ops)
    assert not conflicts
    return after


def start(items: int = 3) -> SuiteDocument:
    given = suite_json(items=items, formulas=("(2;%mismatch%) > (2;%match%)", "(*;%match%) < ("))
    given["items"][0]["note"] = "kept"
    given["items"][1]["conditions"][0]["regions"][1] |= {"oovs": ["plays"], "content": " run "}
    given["predictions"] = given["predictions"][:1]
    return read_suite(json.dumps(given).encode())


def predictions_of(doc: SuiteDocument) -> list[dict[str, str]]:
    return [{"name": p.name, "description": p.description, "formula": p.formula} for p in doc.predictions]


def _set(doc: SuiteDocument, change: Any) -> dict[str, Any]:
    old = predictions_of(doc)
    new = [{**p, "formula": change(p["formula"])} for p in old]
    return {"op": "set_predictions", "old": old, "predictions": new}


@st.composite
def an_edit(draw: Any, doc: SuiteDocument) -> list[dict[str, Any]]:
    """Draw the ops of one valid user action on `doc`."""
    items, conditions, count = list(doc.items), list(doc.conditions), len(doc.region_names)
    table = doc.table()

    def texts() -> list[str]:
        return draw(st.lists(WORDS, min_size=count, max_size=count))

    kinds = ["insert_items", "insert_condition", "insert_region", "rename_region", "rename_condition"]
    kinds += ["move_region", "move_condition", "set_predictions"]
    kinds += ["set_cells", "set_cells", "delete_items", "move_item", "renumber_item"] if items else []
    kinds += ["delete_condition"] if len(conditions) > 1 else []
    kinds += ["delete_region"] if count > 1 else []
    kind = draw(st.sampled_from(kinds))
    free = draw(st.integers(0, 60).filter(lambda n: n not in items))
    region = draw(st.integers(1, count))
    name = draw(st.sampled_from(conditions))
    match kind:
        case "set_cells":
            cells = {}
            for _ in range(draw(st.integers(1, 4))):
                item, condition, at = draw(st.sampled_from(items)), draw(st.sampled_from(conditions)), region
                cells[item, condition, at] = [
                    item,
                    condition,
                    at,
                    table[item, condition].contents[at - 1],
                    draw(WORDS),
                ]
            return [{"op": kind, "cells": list(cells.values())}]
        case "insert_items":
            rows = {condition: texts() for condition in conditions}
            at = draw(st.integers(0, len(items)))
            return [{"op": kind, "at": at, "items": [{"number": free, "rows": rows}]}]
        case "delete_items":
            return [{"op": kind, "items": [draw(st.sampled_from(items))]}]
        case "move_item":
            to = draw(st.integers(0, len(items) - 1))
            return [{"op": kind, "item": draw(st.sampled_from(items)), "to": to}]
        case "renumber_item":
            return [{"op": kind, "item": draw(st.sampled_from(items)), "to": free}]
        case "insert_condition":
            new = draw(NAMES.filter(lambda n: n not in conditions))
            rows = {str(item): texts() for item in items[:2]}
            return [{"op": kind, "at": draw(st.integers(0, len(conditions))), "name": new, "rows": rows}]
        case "delete_condition":
            return [{"op": kind, "name": name}]
        case "move_condition":
            return [{"op": kind, "name": name, "to": draw(st.integers(0, len(conditions) - 1))}]
        case "rename_condition":
            new = draw(NAMES.filter(lambda n: n not in conditions))
            change = _set(doc, lambda text: text.replace(f"%{name}%", f"%{new}%"))
            return [{"op": kind, "name": name, "to": new}, change]
        case "insert_region":
            at = draw(st.integers(1, count + 1))
            cells = [[item, conditions[0], draw(WORDS)] for item in items[:2]]
            change = _set(doc, lambda text: f"{text} ")
            return [{"op": kind, "at": at, "name": draw(NAMES), "texts": cells}, change]
        case "delete_region":
            return [
                {"op": kind, "region": region},
                _set(doc, lambda text: text.replace(f"({region};", "(?;")),
            ]
        case "move_region":
            return [{"op": kind, "region": region, "to": draw(st.integers(1, count))}]
        case "rename_region":
            return [{"op": kind, "region": region, "to": draw(NAMES)}]
    old = predictions_of(doc)
    new = [*old, {"name": "more", "description": "", "formula": "(1;%match%) >"}][-3:]
    return [{"op": "set_predictions", "old": old, "predictions": new}]
