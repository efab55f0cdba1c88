"""Strict JSON for untrusted files, with the path of each problem.

The standard library accepts duplicate keys, NaN, Infinity, 1e999, integers of thousands of digits, deep nesting,
control characters and lone surrogates, or raises exceptions other than `JSONDecodeError` for them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from lmgym.files.bounded import Limits, Refused, TooDeep
from lmgym.files.bounded import load as bounded_load
from lmgym.text import CONTROL, SURROGATE
from lmgym.text.problems import Report

MAX_DEPTH = 32
MAX_INTEGER_DIGITS = 300
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
SYNTAX_HINTS = {
    "Expecting property name enclosed in double quotes": "Use double quotes; no comma after the last entry.",
    "Illegal trailing comma before end of object": "Remove the comma after the last entry.",
    "Illegal trailing comma before end of array": "Remove the comma after the last entry.",
    "Expecting ',' delimiter": "A comma or bracket is missing, or a quotation mark in a text lacks \\.",
    "Expecting value": "A value is missing here, or there is a comma after the last entry.",
    "Invalid control character at": "Write a line break inside a text as \\n and a tab as \\t.",
    "Unterminated string starting at": "The closing quotation mark is missing.",
    "Extra data": "Remove the text after the end of the JSON value.",
}


class _Bad:
    """Placeholder for a refused number, reported with its path by `_walk`."""

    def __init__(self, message: str) -> None:
        self.message = message


class _Repeated(dict[str, Any]):
    """An object with duplicate keys."""

    repeated: Sequence[str] = ()


def json_path(parts: Iterable[str | int]) -> str:
    """Format a JSON path: ("items", 3, "odd key") -> $.items[3]["odd key"]."""
    path = "$"
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif _IDENTIFIER.match(part):
            path += f".{part}"
        else:
            path += f"[{json.dumps(part[:60], ensure_ascii=True)}]"
    return path


def load(text: str, report: Report, limits: Limits, *, nan_is_null: bool = False) -> Any:
    """Parse JSON text.

    Args:
        nan_is_null: read NaN, as Python programs write it, as null.

    Raises:
        FormatError: invalid JSON; no other exception is raised.
    """
    try:
        root = bounded_load(
            text,
            limits,
            parse_constant=lambda name: (
                None if nan_is_null and name == "NaN" else _Bad(f"{name} is not JSON")
            ),
            parse_float=_number,
            parse_int=_integer,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        hint = SYNTAX_HINTS.get(error.msg, "")
        report.problem(f"line {error.lineno}", f"not valid JSON: {error.msg}, column {error.colno}", hint)
    except TooDeep:
        report.problem("$", f"nested more than {MAX_DEPTH} levels deep", "Remove the nested part.")
    except Refused as error:
        report.refuse(error)
    report.raise_problems()
    _walk(root, report)
    report.raise_problems()
    return root


def _number(text: str) -> float | _Bad:
    value = float(text)
    return value if math.isfinite(value) else _Bad(f"the number {text[:20]} is too large")


def _integer(text: str) -> int | _Bad:
    if len(text) > MAX_INTEGER_DIGITS:
        return _Bad(f"a number of {len(text):,} digits is too large")
    return int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    keys = [key for key, _ in pairs]
    marked = _Repeated(result)
    marked.repeated = sorted({key for key in keys if keys.count(key) > 1}) if len(keys) < 1000 else ["(many)"]
    return marked


def _walk(root: Any, report: Report) -> None:
    """Visit every value once, without recursion, and report refused ones."""
    # A path is a chain (part, parent chain), formatted only for a message: most values are valid.
    stack: list[tuple[Any, Any, int]] = [(root, None, 0)]
    while stack:
        value, chain, depth = stack.pop()
        if isinstance(value, str):
            _check_string(value, chain, report)
        elif isinstance(value, _Bad):
            report.problem(_spell(chain), value.message, "Write a finite number.")
        elif isinstance(value, dict | list):
            if depth >= MAX_DEPTH:
                message = f"nested more than {MAX_DEPTH} levels deep"
                report.problem(_spell(chain), message, "Remove the nested part.")
                continue
            stack.extend((child, (part, chain), depth + 1) for part, child in _children(value, chain, report))


def _children(
    value: dict[str, Any] | list[Any], chain: Any, report: Report
) -> Iterable[tuple[str | int, Any]]:
    """Return the parts of a container in reverse, so that the stack yields them in the file's order."""
    if isinstance(value, list):
        return ((index, value[index]) for index in range(len(value) - 1, -1, -1))
    if isinstance(value, _Repeated):
        keys = ", ".join(f'"{key[:60]}"' for key in value.repeated)
        message = (
            f"the key {keys} occurs more than once"
            if len(value.repeated) == 1
            else f"these keys occur more than once: {keys}"
        )
        report.problem(_spell(chain), message, "Keep one entry for each key.")
    for key in value:
        _check_string(key, chain, report, what="a key")
    return reversed(value.items())


def _check_string(text: str, chain: Any, report: Report, what: str = "the text") -> None:
    if text.isascii() and text.isprintable():
        return
    bad = CONTROL.search(text)
    if bad:
        code = f"U+{ord(bad[0]):04X}"
        message = f"{what} contains the control character {code} at position {bad.start() + 1}"
        report.problem(_spell(chain), message, "Remove it; it often results from a wrong encoding.")
    elif SURROGATE.search(text):
        hint = "Write the character itself, or both halves of its \\u pair."
        report.problem(_spell(chain), f"{what} contains half a character (a lone surrogate)", hint)


def _spell(chain: Any) -> str:
    parts: list[str | int] = []
    while chain is not None:
        part, chain = chain
        parts.append(part)
    return json_path(reversed(parts))
