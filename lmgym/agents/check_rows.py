"""The checks of a turn as rows of a form: path in the answer, test, expected value.

A row is one check; each element of a list of expectations has its own row. Expectations that rows cannot express
(unknown tests, null, an empty list) are kept in a separate field, `rest`. Unchanged rows keep their exact value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lmgym.agents.case_reader import SCHEMAS
from lmgym.agents.cases import PARTS, TESTS
from lmgym.agents.hocon import HoconError, read

Row = Mapping[str, str]
"""Row with the keys `place` (such as "structure.answer"), `test` and `expected`."""
Group = tuple[tuple[str, ...], str]
"""Path of keys, beginning with the part of the answer, and the test."""
OF_TEXT = tuple(test for test in TESTS if test.endswith(("keywords", "gist", "regex")))
"""Tests whose expectation is always text."""
LABELS = {
    "value": "is exactly",
    "not_value": "is not",
    "less": "is less than",
    "not_less": "is at least",
    "greater": "is greater than",
    "not_greater": "is at most",
    "keywords": "contains",
    "not_keywords": "does not contain",
    "gist": "meets (LLM judge)",
    "not_gist": "does not meet (LLM judge)",
    "regex": "matches the regex",
    "not_regex": "does not match the regex",
    "json_schema": "fits the JSON Schema",
    "not_json_schema": "does not fit the JSON Schema",
}
EMPTY_ROW = {"place": "text", "test": "keywords", "expected": ""}
PLAIN = re.compile(r'[^."\s]+')
STEP = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^."\s]+))\s*(\.|$)')
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


def split(response: Any) -> tuple[list[dict[str, str]], Any]:
    """Split a response into rows and the rest, which rows cannot express."""
    if not isinstance(response, dict):
        return [], response
    rows: list[dict[str, str]] = []
    rest = _split(response, (), rows)
    return rows, rest


def _split(group: dict[str, Any], keys: tuple[str, ...], rows: list[dict[str, str]]) -> dict[str, Any]:
    rest: dict[str, Any] = {}
    known = not keys or keys[0] in PARTS
    for name, expected in group.items():
        if known and keys and name in TESTS and _has_rows(name, expected):
            elements = expected if isinstance(expected, list) else [expected]
            rows += [
                {"place": show_place(keys), "test": name, "expected": _shown(name, element)}
                for element in elements
            ]
        elif isinstance(expected, dict) and expected:
            if left := _split(expected, (*keys, name), rows):
                rest[name] = left
        else:
            rest[name] = expected
    return rest


def _has_rows(test: str, expected: Any) -> bool:
    if isinstance(expected, dict):
        return test in SCHEMAS
    return expected is not None and expected != []


def join(before: Any, rows: Sequence[Row], rest: Any, problems: list[str], place: str) -> dict[str, Any]:
    """Build the response from rows and rest. Problems with rows are added to `problems`."""
    old = dict(_groups(before))
    shown: dict[Group, list[str]] = {}
    for row_before in split(before)[0]:
        group = read_place(row_before["place"]), row_before["test"]
        shown.setdefault(group, []).append(_plain(row_before["expected"]))
    entered: dict[Group, list[str]] = {}
    for number, row in enumerate(rows, 1):
        keys, expected = read_place(row["place"]), _plain(row["expected"])
        if not row["place"].strip() or (
            not expected.strip() and expected not in shown.get((keys, row["test"]), ())
        ):
            continue
        if not keys or keys[0] not in PARTS:
            problems.append(
                f"{place}, check {number}: “{row['place']}” is not a path in an answer. A path begins with text, "
                "structure or sly_data, such as structure.answer."
            )
        elif row["test"] not in TESTS:
            problems.append(f"{place}, check {number}: unknown test {row['test']!r}.")
        else:
            entered.setdefault((keys, row["test"]), []).append(expected)
    made: dict[str, Any] = {}
    for (keys, test), texts in entered.items():
        if shown.get((keys, test)) == texts:
            value = old[keys, test]
        else:
            where = f"{place}, {show_place(keys)} {test}"
            value = _expected(test, [_read(test, text, where, problems) for text in texts])
        _put(made, (*keys, test), value, problems, place)
    return _merged(made, rest if isinstance(rest, dict) else {}, problems, place)


def _groups(response: Any, keys: tuple[str, ...] = ()) -> Iterable[tuple[Group, Any]]:
    for name, expected in response.items() if isinstance(response, dict) else ():
        if keys and keys[0] in PARTS and name in TESTS and _has_rows(name, expected):
            yield (keys, name), expected
        elif isinstance(expected, dict):
            yield from _groups(expected, (*keys, name))


def _expected(test: str, values: list[Any]) -> Any:
    """Return the values as a list if there are several, or if a single value would be read as a list or an
    object of keys; otherwise the single value."""
    alone = values[0]
    nested = isinstance(alone, list) or (isinstance(alone, dict) and test not in SCHEMAS)
    return values if len(values) > 1 or nested else alone


def _put(made: dict[str, Any], keys: tuple[str, ...], value: Any, problems: list[str], place: str) -> None:
    for key in keys[:-1]:
        made = made.setdefault(key, {})
        if not isinstance(made, dict):
            problems.append(f"{place}: {show_place(keys[:-1])} is a test and cannot also be a path.")
            return
    if keys[-1] in made:
        problems.append(f"{place}: {show_place(keys)} is a path and cannot also be a test.")
    made[keys[-1]] = value


def _merged(made: dict[str, Any], rest: Mapping[str, Any], problems: list[str], place: str) -> dict[str, Any]:
    for key, value in rest.items():
        here = made.get(key)
        if isinstance(here, dict) and isinstance(value, dict):
            _merged(here, value, problems, place)
        elif key in made:
            problems.append(f"{place}: {key} is both among the checks and in “Other expectations”.")
        else:
            made[key] = value
    return made


# --- paths and values as text ---


def show_place(keys: Sequence[str]) -> str:
    return ".".join(key if PLAIN.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in keys)


def read_place(text: str) -> tuple[str, ...]:
    """Return the keys in a path; empty if the text is not a path."""
    keys: list[str] = []
    at = 0
    while at < len(text):
        match = STEP.match(text, at)
        if match is None:
            return ()
        try:
            keys.append(match[2] if match[1] is None else json.loads(f'"{match[1]}"'))
        except ValueError:
            return ()
        at = match.end()
        if match[3] == "." and at == len(text):
            return ()
    return tuple(keys)


def _shown(test: str, element: Any) -> str:
    if isinstance(element, str) and (test in OF_TEXT or _means_itself(element)):
        return element
    return json.dumps(element, ensure_ascii=False, indent=2 if test in SCHEMAS else None)


def _means_itself(text: str) -> bool:
    """Return True if this text, entered without quotes for a value of any type, is read as the same text."""
    return (
        bool(text)
        and text == text.strip()
        and text[0] not in '"{['
        and text not in ("true", "false", "null")
        and not NUMBER.fullmatch(text)
    )


def _read(test: str, text: str, where: str, problems: list[str]) -> Any:
    if test in OF_TEXT:
        return text
    stripped = text.strip()
    if test not in SCHEMAS and (not stripped or _means_itself(stripped)):
        return stripped
    if test in SCHEMAS and not stripped.startswith("{"):
        stripped = f"{{{stripped}}}"
    try:
        return read(f"value: {stripped}").value["value"]
    except HoconError as error:
        problems.append(f"{where}: {error.message} Put text in quotes.")
        return None


def _plain(text: str) -> str:
    """Normalise line breaks, which browsers change."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


# --- paths in the latest answers ---

MAX_PLACES = 60
MAX_SHOWN = 60


def places(structure: Any, sly_data: Any) -> list[tuple[str, str]]:
    """Return the first MAX_PLACES paths in an answer with their values as truncated JSON: the text (without its value),
    then the structure and the private data with all keys of nested objects. Null values are left out."""
    rows: list[tuple[str, str]] = [("text", "")]

    def walk(value: Any, keys: tuple[str, ...]) -> None:
        if len(rows) >= MAX_PLACES or value is None:
            return
        text = json.dumps(value, ensure_ascii=False)
        rows.append((show_place(keys), text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"))
        if isinstance(value, dict):
            for key, below in value.items():
                walk(below, (*keys, key))

    walk(structure, ("structure",))
    walk(sly_data, ("sly_data",))
    return rows
