"""Read the SyntaxGym JSON format in all published dialects."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import jsonschema

from lmgym.files.bounded import Limits
from lmgym.suites.formats.assemble import RawRegion, RawSentence, assemble, clean_name, region_names
from lmgym.suites.formats.designs import check_meta
from lmgym.suites.formats.documents import (
    LIMITS,
    MAX_BYTES,
    MAX_CELL_CHARACTERS,
    MAX_PREDICTIONS,
    MAX_REGIONS,
    METRICS,
    SuiteDocument,
)
from lmgym.suites.formats.places import with_names
from lmgym.suites.formats.predictions import check_formulas, read_predictions
from lmgym.text import decode, listing
from lmgym.text.json_text import json_path, load
from lmgym.text.problems import FormatError, Report

FROM_USERS = replace(LIMITS, bytes=MAX_BYTES)
"""Limits on files from users."""
_TOP = frozenset({"meta", "region_meta", "predictions", "items"})
_ITEM = frozenset({"item_number", "conditions"})
_CONDITION = frozenset({"condition_name", "regions"})
_REGION = frozenset({"region_number", "content"})


def read_json(data: bytes, limits: Limits = FROM_USERS) -> SuiteDocument:
    """Read a suite from the bytes of a JSON file.

    Args:
        limits: `Limits()` for documents that lmgym itself stored.

    Raises:
        FormatError: lists every problem of the encoding, the JSON syntax, the structure (`suite.schema.json`) and the
            consistency of items. No other exception is raised, whatever the bytes.
    """
    report = Report()
    root = load(decode(data, report, limits.bytes or len(data)), report, limits)
    try:
        return _document(root, report)
    except FormatError as error:
        error.problems = with_names(error.problems, root)
        raise


def _document(root: Any, report: Report) -> SuiteDocument:
    broken = check_structure(root, report)
    if not isinstance(root, dict):
        report.raise_problems()
    sound = _Soundness(broken)

    meta = dict(root["meta"]) if sound("meta") and "meta" in root else {}
    names = _region_names(root, report) if sound("region_meta") else None
    raws = _items(root, sound, report)
    assembled = assemble(raws, names, report)
    if raws and "region_meta" not in root:
        message = f"no region names; regions are called {listing([f'“{name}”' for name in assembled.region_names], 3)}"
        report.notice("$.region_meta", message)

    predictions = read_predictions(root, meta, report) if sound("predictions") else []
    trusted = assembled.region_names if sound("region_meta") and assembled.region_names else None
    check_formulas(predictions, trusted, assembled.conditions, report)
    check_meta(meta, assembled.conditions, report)
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
    """Structural validity of the parts of the document. Only valid parts are checked further."""

    def __init__(self, broken: set[Path_]) -> None:
        self._broken = broken
        self._heads = {path[0] for path in broken if path}
        self._items = {path[1] for path in broken if len(path) > 1 and path[0] == "items"}

    def __call__(self, part: str) -> bool:
        """Return whether a top-level part is structurally valid."""
        return part not in self._heads

    def item(self, index: int) -> bool:
        """Return whether an item is structurally valid."""
        return index not in self._items

    @property
    def iterable_items(self) -> bool:
        """Whether `items` is a list, even with invalid entries."""
        return ("items",) not in self._broken


def _unknown(value: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {key: content for key, content in value.items() if key not in known}


def _head(meta: dict[str, Any], report: Report) -> tuple[str, str | tuple[str, ...]]:
    name = str(meta.pop("name", "")).strip()
    metric = meta.pop("metric", None)
    if metric is None:
        report.notice("$.meta.metric", "no metric; “sum” is used")
        return name, "sum"
    return name, tuple(metric) if isinstance(metric, list) else str(metric)


def _region_names(root: dict[str, Any], report: Report) -> list[str] | None:
    region_meta: dict[str, str | None] = root.get("region_meta", {})
    if not region_meta:
        return None
    numbered: dict[int, str] = {}
    for key, name in region_meta.items():
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
            message = f"the number {number} is already used by entry {first[number] + 1} of the list of items"
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


# ---- structure: checked against `suite.schema.json`; errors are explained to authors of suites ----

Path_: TypeAlias = tuple[str | int, ...]

_SCHEMA_FILE = Path(__file__).with_name("suite.schema.json")
_HINTS = {
    "meta": 'Start the suite with "meta": {"name": "…", "metric": "sum"}.',
    "name": "Give the suite a short name.",
    "metric": f"Known metrics: {', '.join(METRICS)}, a list of them, or “all”.",
    "region_meta": 'Write {"1": "Subject", "2": "Verb"}: consecutive numbers from 1, each with a name.',
    "predictions": 'Write a list: ["(2;%mismatch%) > (2;%match%)"]; an empty one is allowed.',
    "string_predictions": "Write a list of formulas.",
    "items": 'Write a list of items: [{"item_number": 1, "conditions": […]}].',
    "item_number": "Write a whole number without quotation marks.",
    "region_number": "Write a whole number from 1 to 200 without quotation marks.",
    "conditions": 'Write a list: [{"condition_name": "match", "regions": […]}].',
    "condition_name": "Use at most 200 characters and no % sign; formulas refer to it as %name%.",
    "regions": 'Write a list: [{"region_number": 1, "content": "The cat"}].',
    "content": 'Write text; an empty region has "content": "".',
    "type": 'The only known type is "formula".',
    "formula": "Write the formula as text.",
}
_ENTRY_HINTS = {
    "predictions": 'Write the formula as text, or {"type": "formula", "formula": "…"}.',
    "string_predictions": "Write the formula as text.",
    "items": 'An item is {"item_number": 1, "conditions": […]}.',
    "conditions": 'A condition is {"condition_name": "match", "regions": […]}.',
    "regions": 'A region is {"region_number": 1, "content": "The cat"}.',
}
_KINDS = {
    "object": "an object",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "null": "null",
    "boolean": "true or false",
}


@cache
def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of the structures that `read_json` accepts. Do not modify it."""
    loaded: dict[str, Any] = json.loads(_SCHEMA_FILE.read_text(encoding="utf-8"))
    return loaded


@cache
def _validator() -> Any:
    return jsonschema.Draft202012Validator(schema())


def check_structure(root: Any, report: Report) -> set[Path_]:
    """Check types, required keys and limits. Adds problems to `report` and returns their paths.

    Raises:
        FormatError: too many problems or predictions.
    """
    places: set[Path_] = set()
    _refuse_many_predictions(root, report)
    for error in _validator().iter_errors(_sketch(root)):
        where: Path_ = tuple(error.absolute_path)
        places.add(where)
        message, hint = _explain(error, where)
        report.problem(json_path(where), message, hint)
    return places


def _refuse_many_predictions(root: Any, report: Report) -> None:
    """Raise FormatError before predictions are validated or parsed: 100,000 take seconds."""
    meta = root.get("meta") if isinstance(root, dict) else None
    for parent, key, where in ((root, "predictions", "$"), (meta, "string_predictions", "$.meta")):
        entries = parent.get(key) if isinstance(parent, dict) else None
        if isinstance(entries, list) and len(entries) > MAX_PREDICTIONS:
            message = f"has {len(entries):,} entries; at most {MAX_PREDICTIONS} are allowed"
            report.problem(f"{where}.{key}", message, "Split the suite.")
            report.raise_problems()


def _sketch(root: Any) -> Any:
    """Shorten valid lists of regions to one entry: they are most of a suite, and jsonschema is slow.

    A list with an invalid region is kept, so that the schema reports it.
    """
    if not isinstance(root, dict) or not isinstance(root.get("items"), list):
        return root
    return {**root, "items": [_sketch_item(item) for item in root["items"]]}


def _sketch_item(item: Any) -> Any:
    if not isinstance(item, dict) or not isinstance(item.get("conditions"), list):
        return item
    return {**item, "conditions": [_sketch_condition(condition) for condition in item["conditions"]]}


def _sketch_condition(condition: Any) -> Any:
    regions = condition.get("regions") if isinstance(condition, dict) else None
    if not isinstance(regions, list) or len(regions) > MAX_REGIONS or not all(map(_is_plain, regions)):
        return condition
    return {**condition, "regions": regions[:1]}


def _is_plain(region: Any) -> bool:
    if type(region) is not dict:
        return False
    number, content = region.get("region_number"), region.get("content")
    if type(number) is not int or type(content) is not str:
        return False
    return 1 <= number <= MAX_REGIONS and len(content) <= MAX_CELL_CHARACTERS


def _explain(error: Any, where: Path_) -> tuple[str, str]:
    explain = _EXPLANATIONS.get(error.validator)
    if explain is None:  # a keyword added to the schema but not to this module
        return f"does not match the schema's “{error.validator}”", _hint(where)
    if error.validator == "required":
        return explain(error), _HINTS.get(_missing(error)[0], "")
    return explain(error), _hint(where)


def _hint(where: Path_) -> str:
    if not where:
        return 'A suite is an object: {"meta": {…}, "region_meta": {…}, "predictions": […], "items": […]}.'
    if where[0] == "region_meta":
        return _HINTS["region_meta"]
    last = where[-1]
    if isinstance(last, int):
        return _ENTRY_HINTS.get(str(where[-2]), "")
    return "" if last == "name" and where[0] != "meta" else _HINTS.get(last, "")


def kind_of(value: Any) -> str:
    """Describe the type of a JSON value in words: "text", "a list"."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, dict) else "a number"


def _type(error: Any) -> str:
    types = error.validator_value
    names = [_KINDS[name] for name in ([types] if isinstance(types, str) else types)]
    return f"must be {' or '.join(names)}, but is {kind_of(error.instance)}"


def _missing(error: Any) -> list[str]:
    return [key for key in error.validator_value if key not in error.instance]


def _required(error: Any) -> str:
    return "lacks " + " and ".join(f'"{key}"' for key in _missing(error))


def _any_of(error: Any) -> str:
    if "metric" in error.absolute_path:
        return f"is not a known metric: {json.dumps(error.instance)[:80]}"
    return 'lacks "formula"'


def _pattern(error: Any) -> str:
    if "region_meta" in error.absolute_path:
        return f"has the key {json.dumps(error.instance[:60])}, which is not a region number"
    return "contains a % sign" if "%" in error.instance else "is empty"


def _too_many(error: Any) -> str:
    return f"has {len(error.instance):,} entries; at most {error.validator_value:,} are allowed"


def _too_long(error: Any) -> str:
    return f"has {len(error.instance):,} characters; at most {error.validator_value:,} are allowed"


_EXPLANATIONS: dict[str, Callable[[Any], str]] = {
    "type": _type,
    "required": _required,
    "anyOf": _any_of,
    "pattern": _pattern,
    "enum": lambda error: f"has the unknown value {json.dumps(error.instance)[:80]}",
    "minItems": lambda error: "is an empty list",
    "maxItems": _too_many,
    "maxProperties": _too_many,
    "maxLength": _too_long,
    "minimum": lambda error: f"is {error.instance}; the smallest allowed is {error.validator_value}",
    "maximum": lambda error: f"is too large; the largest allowed is {error.validator_value:,}",
}
