"""Convert a test case to form fields, and form fields to a case and its text.

Objects (metadata, private data, response) are HOCON fields without the outer braces. An unchanged field keeps its
value, so opening and saving a form changes nothing. The checks of a turn are rows (see check_rows); checks that rows
cannot express share a separate field.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lmgym.agents.check_rows import join, split
from lmgym.agents.hocon import HoconError, read

Fields = Mapping[str, Any]
"""Field texts by field name. A turn also has `checks`, its rows."""
TOP = (
    "agent", "connections", "success_ratio", "timeout_in_seconds", "ignore_thinking", "metadata", "use_direct",
)  # fmt: skip
TURN = ("text", "sly_data", "chat_filter", "timeout_in_seconds", "continue_conversation", "response")
OBJECTS = ("metadata", "sly_data", "response")
SWITCHES = ("use_direct", "ignore_thinking", "continue_conversation")
"""Fields with the value "yes" or "no"."""
EMPTY_TURN: dict[str, Any] = {name: "yes" if name == "continue_conversation" else "" for name in TURN}
MAX_TURNS = 100
MAX_FIELDS = 950
"""Maximum number of fields in a form; the site accepts 1,000."""
_ABSENT = object()


def n_fields(turns: Sequence[Fields]) -> int:
    """Return the number of form fields of these turns, without the fields of the case itself."""
    return sum(len(TURN) + 4 * len(turn.get("checks", ())) for turn in turns)


def fields_of(document: Mapping[str, Any]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the fields of a case and the fields of each turn."""
    top = {name: _shown(name, document.get(name)) for name in TOP}
    turns = document.get("interactions") or []
    return top, [_fields_of_turn(turn) for turn in turns]


def _shown(name: str, value: Any) -> str:
    if name in SWITCHES:
        by_default = name == "continue_conversation"
        return "yes" if (by_default if value is None else value) else "no"
    if value is None:
        return ""
    if name in OBJECTS:
        return write_fields(value)
    return ", ".join(value) if isinstance(value, list) else str(value)


def document_of(
    before: Mapping[str, Any], top: Fields, turns: Sequence[Fields]
) -> tuple[dict[str, Any], list[str]]:
    """Build a case from fields; return the case and the problems with individual fields.

    Keys without a field are kept from `before`. Turns whose fields are all empty are dropped, unless they were
    already empty in `before`.
    """
    problems: list[str] = []
    known = before.get("interactions") or []
    made = []
    for number, fields in enumerate(turns):
        old = known[number] if number < len(known) else None
        if _is_empty(fields) and (old is None or not _is_empty(_fields_of_turn(old))):
            continue
        made.append(_changed(TURN, old or {}, fields, f"Turn {number + 1}, ", problems))
    document = _changed(TOP, before, top, "", problems)
    if made or before.get("interactions"):
        document["interactions"] = made
    return document, problems


def _fields_of_turn(turn: Mapping[str, Any]) -> dict[str, Any]:
    rows, rest = split(turn.get("response"))
    fields: dict[str, Any] = {name: _shown(name, turn.get(name)) for name in TURN}
    return {**fields, "response": _shown("response", rest), "checks": rows}


def _is_empty(fields: Fields) -> bool:
    if any(row["expected"].strip() for row in fields.get("checks", ())):
        return False
    return not any(fields.get(name, "").strip() for name in TURN if name not in SWITCHES)


def _changed(
    names: Sequence[str], old: Mapping[str, Any], fields: Fields, place: str, problems: list[str]
) -> dict[str, Any]:
    """Return `old` with the values of the fields, in the order of `names`."""
    made: dict[str, Any] = {}
    for name in names:
        if name == "response":
            value = _response(old.get(name, _ABSENT), fields, place, problems)
            if value is not _ABSENT:
                made[name] = value
            continue
        shown = plain_lines(_shown(name, old.get(name)))
        entered = plain_lines(fields.get(name, shown))
        if entered == shown:
            value = old.get(name, _ABSENT)
        else:
            label = place + name.replace("_", " ")
            value = _read(name, entered, label[0].upper() + label[1:], problems)
        if value is not _ABSENT:
            made[name] = value
    return {**made, **{key: value for key, value in old.items() if key not in names}}


def _response(old: Any, fields: Fields, place: str, problems: list[str]) -> Any:
    rows, rest = split(None if old is _ABSENT else old)
    shown = plain_lines(_shown("response", rest))
    entered, text = fields.get("checks", rows), plain_lines(fields.get("response", shown))
    same_rows = [_plain_row(row) for row in entered] == [_plain_row(row) for row in rows]
    if same_rows and text == shown:
        return old
    if text != shown:
        rest = _read_object(text, f"{place}other expectations", problems) if text.strip() else {}
    made = join({} if old is _ABSENT else old, entered, rest, problems, place.rstrip(", "))
    return made or _ABSENT


def _plain_row(row: Mapping[str, str]) -> tuple[str, str, str]:
    return row["place"], row["test"], plain_lines(row["expected"])


def plain_lines(text: str) -> str:
    """Normalise line breaks, which browsers change."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read(name: str, entered: str, place: str, problems: list[str]) -> Any:
    """Return the value of a field, or _ABSENT if it is empty."""
    if name in SWITCHES:
        return entered == "yes"
    if not entered.strip():
        return _ABSENT
    if name in OBJECTS:
        return _read_object(entered, place, problems)
    readers: dict[str, Callable[[str], Any]] = {
        "connections": _read_connections,
        "timeout_in_seconds": _read_number,
    }
    return entered if name == "text" else readers.get(name, str)(entered.strip())


def _read_connections(text: str) -> Any:
    names = [part.strip() for part in text.split(",") if part.strip()]
    return names[0] if len(names) == 1 else names


def _read_object(text: str, place: str, problems: list[str]) -> Any:
    try:
        value = read(text).value
    except HoconError as error:
        problems.append(f"{place}, {error}")
        return _ABSENT
    if not isinstance(value, dict):
        problems.append(f"{place}: expected keys and values.")
        return _ABSENT
    return value


def _read_number(text: str) -> Any:
    """Return a number, or the text unchanged if it is not one; the case reader then rejects it."""
    if text.isdecimal() and len(text) < 10:
        return int(text)
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


# --- writing text that reads back to the same values ---

PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
WIDTH = 90


def write_case(value: dict[str, Any]) -> str:
    return _object(value, 0) + "\n"


def write_fields(value: dict[str, Any]) -> str:
    """Write an object as HOCON without outer braces or indentation, because whitespace inside triple quotes is part of
    the text.
    """
    return "\n".join(_field(key, below, 0) for key, below in value.items())


def _value(value: Any, level: int) -> str:
    if isinstance(value, dict):
        return _object(value, level)
    if isinstance(value, list):
        return _list(value, level)
    if (
        isinstance(value, str)
        and "\n" in value
        and '"' not in value[-1:]
        and '"""' not in value
        and _whole(value)
    ):
        return f'"""{value}"""'
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _whole(text: str) -> bool:
    """Return True if the text can be written unchanged between triple quotes."""
    return all(sign >= " " or sign in "\n\t" for sign in text) and not text.startswith('"')


def _object(value: dict[str, Any], level: int) -> str:
    if not value:
        return "{}"
    indent = "  " * (level + 1)
    lines = [indent + _field(key, below, level + 1) for key, below in value.items()]
    return "{\n" + "\n".join(lines) + "\n" + "  " * level + "}"


def _field(key: str, value: Any, level: int) -> str:
    return f"{_key(key)}: {_value(value, level)}"


def _list(value: list[Any], level: int) -> str:
    parts = [_value(below, level + 1) for below in value]
    line = f"[{', '.join(parts)}]"
    if "\n" not in line and len(line) < WIDTH:
        return line
    indent = "  " * (level + 1)
    return "[\n" + "".join(f"{indent}{part}\n" for part in parts) + "  " * level + "]"


def _key(key: str) -> str:
    return key if PLAIN_KEY.fullmatch(key) and key != "include" else json.dumps(key, ensure_ascii=False)
