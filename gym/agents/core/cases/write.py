"""Writing a test case that was made in a form. Reading the text gives the same values."""

from __future__ import annotations

import json
import re
from typing import Any

PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
WIDTH = 90


def write_case(value: dict[str, Any]) -> str:
    return _object(value, 0) + "\n"


def write_fields(value: dict[str, Any]) -> str:
    """Without the outer braces, and not indented, because white space inside triple quotes is part of the text."""
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
    """May this text stand as it is between triple quotes?"""
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
