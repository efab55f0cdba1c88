"""`read_json`: the SyntaxGym JSON format in every published dialect."""

from __future__ import annotations

from typing import Any

from gym.lib.json_text import json_path, load
from gym.lib.problems import Report
from gym.lib.text import decode, listing
from suites.formats.assemble import RawRegion, RawSentence, assemble, clean_name, region_names
from suites.formats.documents import LIMITS, MAX_BYTES, SuiteDocument
from suites.formats.predictions import check_formulas, read_predictions
from suites.formats.structure import Path_, check_structure

_TOP = frozenset({"meta", "region_meta", "predictions", "items"})
_ITEM = frozenset({"item_number", "conditions"})
_CONDITION = frozenset({"condition_name", "regions"})
_REGION = frozenset({"region_number", "content"})


def read_json(data: bytes) -> SuiteDocument:
    """Read a suite from the bytes of a JSON file.

    Raises `FormatError` with every problem found: in the bytes, the JSON text, the structure
    (`suite.schema.json`), and what only shows across items. Nothing else is raised, whatever the bytes.
    """
    report = Report()
    root = load(decode(data, report, MAX_BYTES), report, LIMITS)
    broken = check_structure(root, report)
    if not isinstance(root, dict):
        report.raise_problems()
    sound = _Soundness(broken)

    meta = dict(root["meta"]) if sound("meta") and "meta" in root else {}
    names = _region_names(root, report) if sound("region_meta") else None
    raws = _items(root, sound, report)
    assembled = assemble(raws, names, report)
    if raws and "region_meta" not in root:
        message = f"no region names; called {listing([f'“{name}”' for name in assembled.region_names], 3)}"
        report.notice("$.region_meta", message)

    predictions = read_predictions(root, meta, report) if sound("predictions") else []
    trusted = assembled.region_names if sound("region_meta") and assembled.region_names else None
    check_formulas(predictions, trusted, assembled.conditions, report)
    name, metric = _head(meta, report)
    report.raise_problems()
    extra = _unknown(root, _TOP)
    unknown_items = {
        str(int(i["item_number"])): _unknown(i, _ITEM) for i in root["items"] if _unknown(i, _ITEM)
    }
    if unknown_items:
        extra["items"] = unknown_items
    return SuiteDocument(
        name=name,
        metric=metric,
        meta=meta,
        region_names=assembled.region_names,
        conditions=assembled.conditions,
        sentences=assembled.sentences,
        predictions=tuple(placed.prediction for placed in predictions),
        extra=extra,
        notices=tuple(report.notices),
    )


class _Soundness:
    """Which parts of the document passed the structural pass: those are checked further."""

    def __init__(self, broken: set[Path_]) -> None:
        self._broken = broken
        self._heads = {path[0] for path in broken if path}
        self._items = {path[1] for path in broken if len(path) > 1 and path[0] == "items"}

    def __call__(self, part: str) -> bool:
        """A top-level part is sound throughout."""
        return part not in self._heads

    def item(self, index: int) -> bool:
        """An item is sound throughout."""
        return index not in self._items

    @property
    def iterable_items(self) -> bool:
        """`items` is a list, though entries of it may be broken."""
        return ("items",) not in self._broken


def _unknown(value: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {key: content for key, content in value.items() if key not in known}


def _head(meta: dict[str, Any], report: Report) -> tuple[str, str | tuple[str, ...]]:
    name = str(meta.pop("name", "")).strip()
    metric = meta.pop("metric", None)
    if metric is None:
        report.notice("$.meta.metric", "no metric given; “sum” is used")
        return name, "sum"
    return name, tuple(metric) if isinstance(metric, list) else str(metric)


def _region_names(root: dict[str, Any], report: Report) -> list[str] | None:
    given: dict[str, str | None] = root.get("region_meta", {})
    if not given:
        return None
    numbered: dict[int, str] = {}
    for key, name in given.items():
        number = int(key)
        if number in numbered:
            message = f"region {number} is declared twice, the second time as {key!r}"
            report.problem("$.region_meta", message, "Keep one of them.")
        numbered[number] = name or ""
    return region_names(numbered, "$.region_meta", report)


def _items(root: dict[str, Any], sound: _Soundness, report: Report) -> list[RawSentence]:
    if not sound.iterable_items:
        return []
    first: dict[int, int] = {}
    raws: list[RawSentence] = []
    for index, item in enumerate(root.get("items", [])):
        if not sound.item(index):
            continue
        number = int(item["item_number"])
        if number in first:
            where = json_path(("items", index, "item_number"))
            message = f"item {number} exists already, as $.items[{first[number]}]"
            report.problem(where, message, "Give every item its own number.")
            continue
        first[number] = index
        raws.extend(_sentence(condition, index, k, number) for k, condition in enumerate(item["conditions"]))
    return raws


def _sentence(condition: dict[str, Any], item_index: int, index: int, item: int) -> RawSentence:
    where = json_path(("items", item_index, "conditions", index))
    regions = [
        RawRegion(f"{where}.regions[{k}]", int(r["region_number"]), r["content"], _unknown(r, _REGION))
        for k, r in enumerate(condition["regions"])
    ]
    name = clean_name(condition["condition_name"])
    item_where = json_path(("items", item_index, "conditions"))
    return RawSentence(where, item_where, item, name, regions, _unknown(condition, _CONDITION))
