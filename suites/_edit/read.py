"""Reading the fields of an op, which comes from a browser and may hold anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from suites.formats.documents import MAX_CELL_CHARACTERS, MAX_ITEM_NUMBER, MAX_NAME_CHARACTERS
from suites.formats.text import CONTROL, SURROGATE, tidy

from .errors import EditError

Op = Mapping[str, Any]


def clean_text(value: object) -> str:
    """A cell's text as it is kept: trimmed, inner blanks collapsed, control characters left out."""
    if not isinstance(value, str):
        raise EditError("", "a cell's text must be text")
    text = tidy(SURROGATE.sub("", CONTROL.sub("", value)))
    if len(text) > MAX_CELL_CHARACTERS:
        raise EditError("", f"a cell has {len(text):,} characters; at most {MAX_CELL_CHARACTERS:,} are kept")
    return text


def clean_name(value: object, what: str) -> str:
    """A region's or condition's name: not empty, at most 200 characters."""
    name = clean_text(value)
    if not name:
        raise EditError("", f"the {what} needs a name")
    if len(name) > MAX_NAME_CHARACTERS:
        raise EditError("", f"the {what}'s name has more than {MAX_NAME_CHARACTERS} characters")
    if what == "condition" and "%" in name:
        raise EditError("", f"the condition “{name}” contains a % sign; formulas write %name%")
    return name


def whole(op: Op, key: str, low: int, high: int) -> int:
    """A whole number between two bounds, both included."""
    value = op.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise EditError("", f"“{key}” is {value!r:.40}, but must be a whole number from {low} to {high}")
    return value


def item_number(value: object) -> int:
    """An item's number, from 0 to 999,999,999."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_ITEM_NUMBER:
        raise EditError("", f"{value!r:.40} is not an item number")
    return value


def text_of(op: Op, key: str) -> str:
    """A text field, as it stands."""
    value = op.get(key, "")
    if not isinstance(value, str):
        raise EditError("", f"“{key}” must be text")
    return SURROGATE.sub("", CONTROL.sub("", value))


def list_of(op: Op, key: str) -> Sequence[Any]:
    """A list field; a missing one is empty."""
    value = op.get(key, [])
    if not isinstance(value, list):
        raise EditError("", f"“{key}” must be a list")
    return value


def mapping_of(op: Op, key: str) -> Mapping[str, Any]:
    """An object field; a missing one is empty."""
    value = op.get(key, {})
    if not isinstance(value, dict):
        raise EditError("", f"“{key}” must be an object")
    return value


def texts(value: object, width: int) -> list[str]:
    """A row of cells as long as the suite has regions; a missing row is empty cells."""
    if value is None:
        return [""] * width
    if not isinstance(value, list) or len(value) != width:
        raise EditError("", f"a row must be a list of {width} texts, one per region")
    return [clean_text(cell) for cell in value]
