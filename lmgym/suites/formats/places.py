"""Places in a suite's JSON by the names that are there: "item 3, condition match, region 2 (verb)". Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from lmgym.text.problems import PLACE, Problem

MOST = 40
"""Characters of a name."""


def with_names(problems: Iterable[Problem], root: Any) -> list[Problem]:
    """The problems of a file whose JSON is `root`, each with its place by names where it is in an item."""
    return [replace(problem, names=named(problem.where, root)) for problem in problems]


def named(where: str, root: Any) -> str:
    """The place of a JSON path by numbers and names as the file has them, which may be broken; "" where it is in no
    item."""
    found = PLACE.match(where)
    if not found or found["item"] is None:
        return ""
    item = _entry(root, "items", found["item"])
    parts = [f"item {_number(item, 'item_number', found['item'])}"]
    if found["condition"] is None:
        return parts[0]
    condition = _entry(item, "conditions", found["condition"])
    parts.append(f"condition {_text(condition, 'condition_name') or int(found['condition']) + 1}")
    if found["region"] is not None:
        region = _entry(condition, "regions", found["region"])
        number = _number(region, "region_number", found["region"])
        name = _text(root.get("region_meta") if isinstance(root, dict) else None, str(number))
        parts.append(f"region {number} ({name})" if name else f"region {number}")
    return ", ".join(parts)


def _entry(whole: Any, key: str, index: str) -> Any:
    entries = whole.get(key) if isinstance(whole, dict) else None
    return entries[int(index)] if isinstance(entries, list) and int(index) < len(entries) else None


def _number(entry: Any, key: str, index: str) -> int:
    """The number that the entry has, else its place counted from 1."""
    given = entry.get(key) if isinstance(entry, dict) else None
    return given if type(given) is int and given >= 0 else int(index) + 1


def _text(entry: Any, key: str) -> str:
    given = entry.get(key) if isinstance(entry, dict) else None
    return given.strip()[:MOST] if isinstance(given, str) else ""
