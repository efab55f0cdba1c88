"""`validate`: whether the lines of a log have the form that version 5 asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jsonschema import Draft4Validator

from gym.lmchallenge.core.errors import LogError

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


def problems(rows: Iterable[tuple[int, dict[str, Any]]], source: str) -> Iterator[LogError]:
    """Everything that is not as it should be: line, place in it and reason."""
    validator = Draft4Validator(SCHEMA)
    for number, row in rows:
        for error in validator.iter_errors(row):
            place = "".join(
                f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path
            )
            said = "a text is repeated" if error.validator == "uniqueItems" else error.message
            yield LogError(f"{source}, line {number}{f', {place[1:]}' if place else ''}: {said}.")
