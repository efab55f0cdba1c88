"""`validate`: check that the lines of a log have the form that version 5 asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft4Validator, ValidationError

from lmgym.lmchallenge.errors import LogError

_STRING, _NUMBER, _SCORE = {"type": "string"}, {"type": "number"}, {"type": ["number", "null"]}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "user": {"type": ["string", "null"]},
        "character": _NUMBER,
        "message": _NUMBER,
        "token": _NUMBER,
        "target": _STRING,
        "select": {"type": "boolean"},
        "logp": _SCORE,
        "completions": {
            "type": "array",
            "items": {"type": "array", "uniqueItems": True, "items": _STRING},
        },
        "results": {
            "type": "array",
            "items": {
                "type": "array",
                "minItems": 3,
                "items": [_STRING, {"type": "number", "maximum": 0}, _SCORE, _NUMBER],
                "additionalItems": False,
            },
        },
        "verbatim": _STRING,
    },
    "required": ["user", "character", "message", "token", "target"],
    "dependencies": {"results": ["verbatim"], "verbatim": ["results"]},
}


@dataclass
class _Problem:
    """A problem that several lines share."""

    first: int
    last: int
    count: int = 0


def problems(rows: Iterable[tuple[int, dict[str, Any]]], source: str) -> Iterator[LogError]:
    """Yield every problem: line, place in it and reason. A problem that several lines share is reported once, with the
    first of them.

    Raises LogError for a line that cannot be read.
    """
    validator = Draft4Validator(SCHEMA)
    found: dict[tuple[str, str], _Problem] = {}
    unreadable: LogError | None = None
    try:
        for number, row in rows:
            for error in validator.iter_errors(row):
                one = found.setdefault(_words(error), _Problem(number, number))
                one.last, one.count = number, one.count + 1
    except LogError as error:
        unreadable = error
    for (place, words), one in found.items():
        more = f" This is {one.count:,} times in the log, up to line {one.last:,}." if one.count > 1 else ""
        yield LogError(f"{source}, line {one.first}{f', {place}' if place else ''}: {words}.{more}")
    if unreadable:
        raise unreadable


def _words(error: ValidationError) -> tuple[str, str]:
    """Return the place in the line, and what is wrong there."""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return place.removeprefix(
        "."
    ), "a text is repeated" if error.validator == "uniqueItems" else error.message
