"""History of a suite's edits: undo data, earlier states restored from them, and descriptions of edits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lmgym.suites.diff import PredictionChange, prediction_changes
from lmgym.suites.formats.documents import PredictionDoc, SentenceDoc, SuiteDocument
from lmgym.text import number_runs, numbered

Key = tuple[int, str]
_ITEMS = "items"
_NAMED = 12
"""Maximum number of changed predictions that are described one by one; beyond it, only their number is given."""


# ---- earlier states ----


def undo_of(before: SuiteDocument, after: SuiteDocument, joins: tuple[str, str]) -> dict[str, Any]:
    """Return the undo data of an edit, as JSON for `Past.back`: what turns `after` back into `before`.

    Args:
        before, after: the suite before and after the edit, or the same part of both that includes all changes.
        joins: join policies before and after.
    """
    old, new = before.table(), after.table()
    undo: dict[str, Any] = {
        "name": None if before.name == after.name else before.name,
        "metric": None if before.metric == after.metric else _listed(before.metric),
        "join": None if joins[0] == joins[1] else joins[0],
        "regions": None if before.region_names == after.region_names else list(before.region_names),
        "conditions": None if before.conditions == after.conditions else list(before.conditions),
        "predictions": None
        if before.predictions == after.predictions
        else [[p.formula, p.name, p.description, p.extra] for p in before.predictions],
        "meta": _mapping(before.meta, after.meta),
        "extra": _mapping(_top(before.extra), _top(after.extra)),
        "items": _mapping(before.extra.get(_ITEMS, {}), after.extra.get(_ITEMS, {})),
        "order": None if list(old) == list(new) else _order(before),
        "rows": [_row(sentence) for key, sentence in old.items() if new.get(key) != sentence] or None,
    }
    return {name: value for name, value in undo.items() if value is not None}


class Past:
    """A suite that is taken back from its present state, one edit at a time."""

    def __init__(self, document: SuiteDocument, join: str) -> None:
        self.join = join
        self._base = document
        self._rows: dict[Key, SentenceDoc] = document.table()
        self._order: dict[str, Any] = {"keys": list(self._rows)}
        self._conditions = document.conditions
        """Conditions at the time of `_order`."""
        self._items: dict[str, Any] = dict(document.extra.get(_ITEMS, {}))

    def back(self, undo: Mapping[str, Any]) -> None:
        """Undo the newest edit that is not undone yet. `undo`: its undo data, from `undo_of`."""
        base, changes = self._base, {name: undo[name] for name in ("name", "metric") if name in undo}
        if isinstance(changes.get("metric"), list):
            changes["metric"] = tuple(changes["metric"])
        if "regions" in undo:
            changes["region_names"] = tuple(undo["regions"])
        if "conditions" in undo:
            changes["conditions"] = tuple(undo["conditions"])
        if "predictions" in undo:
            changes["predictions"] = tuple(PredictionDoc(*entry) for entry in undo["predictions"])
        if "meta" in undo:
            changes["meta"] = _put(base.meta, undo["meta"])
        if "extra" in undo:
            changes["extra"] = _put(_top(base.extra), undo["extra"])
        self._base = replace(base, **changes)
        self._items = _put(self._items, undo.get("items", {}))
        self.join = undo.get("join", self.join)
        for item, condition, contents, raw, extra in undo.get("rows", ()):
            texts = None if raw is None else tuple(raw)
            self._rows[item, condition] = SentenceDoc(item, condition, tuple(contents), texts, extra)
        if "order" in undo:
            # Rows outside the new order stay in `_rows`. None comes back stale: undoing a deletion overwrites the row.
            self._order, self._conditions = undo["order"], self._base.conditions

    def document(self) -> SuiteDocument:
        """Return the suite at this point."""
        extra = _top(self._base.extra) | ({_ITEMS: self._items} if self._items else {})
        sentences = tuple(self._rows[key] for key in _keys(self._order, self._conditions))
        return replace(self._base, sentences=sentences, extra=extra)


def _top(extra: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in extra.items() if key != _ITEMS}


def _mapping(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the entries to put back and the keys to drop; None if nothing changed."""
    put = {key: value for key, value in before.items() if key not in after or after[key] != value}
    drop = [key for key in after if key not in before]
    return {"put": put, "drop": drop} if put or drop else None


def _put(now: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    gone = set(change.get("drop", ()))
    return {**{key: value for key, value in now.items() if key not in gone}, **change.get("put", {})}


def _row(sentence: SentenceDoc) -> list[Any]:
    raw = None if sentence.raw is None else list(sentence.raw)
    return [sentence.item, sentence.condition, list(sentence.contents), raw, sentence.extra]


def _listed(metric: str | tuple[str, ...]) -> str | list[str]:
    return list(metric) if isinstance(metric, tuple) else metric


def _order(document: SuiteDocument) -> dict[str, Any]:
    """Return the order of sentences: ranges of items if each item has all conditions in the order of the suite,
    otherwise the key of every sentence."""
    keys = list(document.table())
    regular = [(item, condition) for item in document.items for condition in document.conditions]
    return (
        {"ranges": number_runs(document.items)} if keys == regular else {"keys": [list(key) for key in keys]}
    )


def _keys(order: Mapping[str, Any], conditions: Sequence[str]) -> Iterable[Key]:
    if "keys" in order:
        return [(item, condition) for item, condition in order["keys"]]
    items = (item for first, last in order["ranges"] for item in range(first, last + 1))
    return [(item, condition) for item in items for condition in conditions]


# ---- edits in words ----


@dataclass(frozen=True, slots=True)
class Step:
    """One change of an edit, with the text before and after it; ∅ stands for an empty cell or field."""

    words: str
    old: str = ""
    new: str = ""


def steps_of(ops: Sequence[Mapping[str, Any]]) -> list[Step]:
    """Describe the operations of one edit, as in “changed item 3, match, region 2”."""
    steps = [step for op in ops for step in _describe(op)]
    return steps or [Step("changed nothing")]


def _describe(op: Mapping[str, Any]) -> list[Step]:
    match op:
        case {"op": "set_cells", "cells": list(cells)}:
            return _cells(cells)
        case {"op": "insert_items", "items": list(items)}:
            return [Step(f"added {_items([entry.get('number') for entry in items])}")]
        case {"op": "delete_items", "items": list(items)}:
            return [Step(f"deleted {_items(items)}")]
        case {"op": "move_item", "item": item, "to": to}:
            return [Step(f"moved item {item} to position {to + 1}")]
        case {"op": "renumber_item", "item": item, "to": to}:
            return [Step(f"renumbered item {item} to {to}")]
        case {"op": "insert_condition", "name": name}:
            return [Step(f"added condition {name}")]
        case {"op": "delete_condition", "name": name}:
            return [Step(f"deleted condition {name}")]
        case {"op": "move_condition", "name": name, "to": to}:
            return [Step(f"moved condition {name} to position {to + 1}")]
        case {"op": "rename_condition", "name": name, "to": to}:
            return [Step("renamed condition", name, to)]
        case {"op": "insert_region", "at": at, "name": name}:
            return [Step(f"added region {at} ({name})")]
        case {"op": "delete_region", "region": region}:
            return [Step(f"deleted region {region}")]
        case {"op": "move_region", "region": region, "to": to}:
            return [Step(f"moved region {region} to position {to}")]
        case {"op": "rename_region", "region": region, "to": to}:
            return [Step(f"renamed region {region}", new=to)]
        case {"op": "set_predictions", "predictions": list(new)}:
            return _predictions(op.get("old"), new)
        case {"op": "set_factors", "factors": list(factors)}:
            names = ", ".join(str(factor.get("name", "")) for factor in factors)
            return [Step("changed the factors", new=names) if names else Step("removed the factors")]
        case {"op": "set_scoring"}:
            return _scoring(op)
        case {"op": "replace_draft"}:
            return [Step("replaced the draft with a file")]
        case {"op": "discard_draft"}:
            return [Step("discarded the draft")]
        case {"op": "restore", "version": version}:
            return [Step(f"restored the state after change {version}")]
    return [Step("changed the draft")]


def _cells(cells: Sequence[Sequence[Any]]) -> list[Step]:
    if len(cells) == 1:
        item, condition, region, old, new = cells[0]
        return [Step(f"changed item {item}, {condition}, region {region}", old or "∅", new or "∅")]
    items = list(dict.fromkeys(cell[0] for cell in cells))
    return [Step(f"changed {len(cells)} cells of {_items(items)}")] if cells else []


def _items(numbers: Sequence[Any]) -> str:
    return numbered("item", [number for number in numbers if isinstance(number, int)])


def _predictions(old: Any, new: Sequence[Any]) -> list[Step]:
    if not isinstance(old, list):
        return [Step("changed the predictions")]
    changes = prediction_changes(*([_document(entry) for entry in entries] for entries in (old, new)))
    if len(changes) > _NAMED:
        return [Step(f"changed {len(changes)} predictions")]
    return [step for change in changes for step in _prediction(change)]


def _document(entry: Mapping[str, Any]) -> PredictionDoc:
    formula, name, description = (str(entry.get(key, "")) for key in ("formula", "name", "description"))
    return PredictionDoc(formula, name, description)


def _prediction(change: PredictionChange) -> list[Step]:
    number = f"prediction {change.number}"
    if change.old is None and change.new is not None:
        return [Step(f"added {number}", new=_label(change.new))]
    if change.new is None and change.old is not None:
        return [Step(f"deleted {number}", old=_label(change.old))]
    return [
        Step(f"changed the {part.what} of {number}", part.old or "∅", part.new or "∅")
        for part in change.parts
    ]


def _label(prediction: PredictionDoc) -> str:
    return ": ".join(part for part in (prediction.name, prediction.formula) if part)


def _scoring(op: Mapping[str, Any]) -> list[Step]:
    def words(scoring: Any) -> str:
        metric = scoring.get("metric")
        return (
            f"{', '.join(metric) if isinstance(metric, list) else metric}, join policy {scoring.get('join')}"
        )

    old = op.get("old")
    return [Step("changed the scoring", words(old) if isinstance(old, dict) else "", words(op))]
