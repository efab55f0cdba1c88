"""`validate`: check the lines of a log against the schema of version 5."""

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
    """A problem: the first and last line that have it, and how often it occurs."""

    first: int
    last: int
    count: int = 0


def problems(rows: Iterable[tuple[int, dict[str, Any]]], source: str) -> Iterator[LogError]:
    """Yield every problem with its line, its location in the line and the reason. A problem that occurs in several
    lines is reported once, for the first of them.

    Raises LogError for a line that cannot be read.
    """
    validator = Draft4Validator(SCHEMA)
    problems_by_words: dict[tuple[str, str], _Problem] = {}
    unreadable: LogError | None = None
    try:
        for number, row in rows:
            for error in validator.iter_errors(row):
                problem = problems_by_words.setdefault(_words(error), _Problem(number, number))
                problem.last, problem.count = number, problem.count + 1
    except LogError as error:
        unreadable = error
    for (place, words), problem in problems_by_words.items():
        more = (
            f" It occurs {problem.count:,} times, last in line {problem.last:,}." if problem.count > 1 else ""
        )
        yield LogError(f"{source}, line {problem.first}{f', {place}' if place else ''}: {words}.{more}")
    if unreadable:
        raise unreadable


def _words(error: ValidationError) -> tuple[str, str]:
    """Return the location in the line, and the reason."""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return place.removeprefix(
        "."
    ), "a text is repeated" if error.validator == "uniqueItems" else error.message
