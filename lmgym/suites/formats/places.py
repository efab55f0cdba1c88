"""Describe locations in a suite's JSON by its numbers and names: "item 3, condition match, region 2 (verb)"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from lmgym.text.problems import PLACE, Problem

MOST = 40
"""Maximum length of a name in a location."""


def with_names(problems: Iterable[Problem], root: Any) -> list[Problem]:
    """Add a description of the location to each problem inside an item. `root` is the JSON value of the file."""
    return [replace(problem, names=named(problem.where, root)) for problem in problems]


def named(where: str, root: Any) -> str:
    """Describe a JSON path by the numbers and names in the file, which may be invalid; "" outside items."""
    match = PLACE.match(where)
    if not match or match["item"] is None:
        return ""
    item = _entry(root, "items", match["item"])
    parts = [f"item {_number(item, 'item_number', match['item'])}"]
    if match["condition"] is None:
        return parts[0]
    condition = _entry(item, "conditions", match["condition"])
    parts.append(f"condition {_text(condition, 'condition_name') or int(match['condition']) + 1}")
    if match["region"] is not None:
        region = _entry(condition, "regions", match["region"])
        number = _number(region, "region_number", match["region"])
        name = _text(root.get("region_meta") if isinstance(root, dict) else None, str(number))
        parts.append(f"region {number} ({name})" if name else f"region {number}")
    return ", ".join(parts)


def _entry(whole: Any, key: str, index: str) -> Any:
    entries = whole.get(key) if isinstance(whole, dict) else None
    return entries[int(index)] if isinstance(entries, list) and int(index) < len(entries) else None


def _number(entry: Any, key: str, index: str) -> int:
    """Return the number in the entry, or its position (from 1) if there is no valid number."""
    number = entry.get(key) if isinstance(entry, dict) else None
    return number if type(number) is int and number >= 0 else int(index) + 1


def _text(entry: Any, key: str) -> str:
    text = entry.get(key) if isinstance(entry, dict) else None
    return text.strip()[:MOST] if isinstance(text, str) else ""
