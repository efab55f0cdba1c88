"""From the `response` of an interaction to single checks, with warnings of what would silently check nothing."""

from __future__ import annotations

from typing import Any

from gym.agents.core.cases.model import ORDERED, PARTS, TESTS, Check
from gym.agents.core.cases.notes import Notes, kind
from gym.agents.core.hocon import KeyPath

SPECIAL = frozenset('$"{}[]:=,+#`^?!@*&\\.')
"""Characters by which neuro-san's parser keeps the quotes of a key, or splits it."""
LONG_KEYWORD = 5


def checks_of(response: dict[str, Any] | None, path: KeyPath, notes: Notes) -> tuple[Check, ...]:
    """All checks, parts in the fixed order, then breadth first as the reference goes."""
    found: list[Check] = []
    given = response or {}
    for key in given:
        if key not in PARTS:
            message = f"Answers have no part {key}: nothing is checked."
            notes.unknown("unknown-part", (*path, key), message, PARTS)
            found.append(_skipped(notes, path, key, (), "", f"answers have no part {key!r}"))
    for part in PARTS:
        if part in given:
            found += _walk(given[part], part, (*path, part), notes)
    return tuple(found)


def _walk(value: Any, part: str, path: KeyPath, notes: Notes) -> list[Check]:
    if value is None:
        notes.warn("null", path, "null checks nothing.")
        return []
    if not isinstance(value, dict):
        hint = f"Name a test, such as {part} {{ keywords: … }}."
        notes.warn("bare-part", path, f"{kind(value).capitalize()} alone checks nothing.", hint)
        return [_skipped(notes, path[:-1], part, (), "", "no test is named")]
    found: list[Check] = []
    waiting: list[tuple[dict[str, Any], tuple[str, ...]]] = [(value, ())]
    while waiting:
        group, keys = waiting.pop(0)
        if not group:
            notes.warn("empty", (*path, *keys), "An empty object checks nothing.")
        for name, expected in group.items():
            here = (*path, *keys, name)
            if isinstance(expected, dict):
                _remark_on_key(name, here, notes)
                if name.lower() in TESTS and expected and not any(key.lower() in TESTS for key in expected):
                    hint = f"To compare with an object, put it in a list: {name}: [{{…}}]."
                    notes.warn("nested-test", here, f"{name} is taken for a key of the answer here.", hint)
                waiting.append((expected, (*keys, name)))
            elif expected is None:
                notes.warn("null", here, "null checks nothing.")
                found.append(_skipped(notes, here[:-1], part, keys, name, "null checks nothing"))
            else:
                found += _checks(name, expected, part, keys, here, notes)
    return found


def _checks(
    name: str, expected: Any, part: str, keys: tuple[str, ...], path: KeyPath, notes: Notes
) -> list[Check]:
    test = name.lower()
    if test not in TESTS:
        notes.unknown("unknown-test", path, f"There is no test {name}: nothing is checked.", TESTS)
        return [_skipped(notes, path[:-1], part, keys, name, f"there is no test {name!r}")]
    line, _ = notes.document.place(path)
    if expected == [] and isinstance(expected, list):
        notes.warn("empty-list", path, "An empty list checks only that the value is there.")
        return [Check(part, keys, test, only_present=True, line=line)]
    if not isinstance(expected, list):
        expected, several = [expected], False
    else:
        several = True
    found = []
    for number, element in enumerate(expected):
        here = (*path, number) if several else path
        _remark_on_expectation(test, element, part, keys, here, notes)
        place, _ = notes.document.place(here)
        found.append(Check(part, keys, test, element, number if several else None, line=place))
    return found


def _skipped(notes: Notes, path: KeyPath, part: str, keys: tuple[str, ...], test: str, why: str) -> Check:
    line, _ = notes.document.place((*path, test or part))
    return Check(part, keys, test, skipped=why, line=line)


def _remark_on_key(name: str, path: KeyPath, notes: Notes) -> None:
    if "." in name:
        notes.info("dotted-key", path, "neuro-san never looks at keys with a dot: there this checks nothing.")
    elif SPECIAL & set(name):
        notes.info("quoted-key", path, "neuro-san keeps the quotes of such a key: there this always fails.")


def _remark_on_expectation(
    test: str, element: Any, part: str, keys: tuple[str, ...], path: KeyPath, notes: Notes
) -> None:
    of_text = part == "text" and not keys
    if part == "text" and keys:
        notes.warn("text-key", path, "The text of an answer has no keys: this always fails.")
    elif of_text and test in ("keywords", "not_keywords") and not isinstance(element, str):
        notes.warn(
            "type",
            path,
            f"Text is searched for text: {kind(element)} is always an error.",
            "Put it in quotes.",
        )
    elif of_text and test == "value" and not isinstance(element, str):
        notes.warn(
            "type", path, f"Text never equals {kind(element)}: this always fails.", "Put it in quotes."
        )
    elif of_text and test == "not_value" and not isinstance(element, str):
        notes.warn("type", path, f"Text never equals {kind(element)}: this passes whatever the answer.")
    elif of_text and test in ORDERED and not isinstance(element, str):
        notes.warn("type", path, f"Text and {kind(element)} have no order: this is always an error.")
    if test in ORDERED:
        message = (
            f"neuro-san compares the other way round: there the expected value is what has to be {test}."
        )
        notes.info("operand-order", path, message)
    if test in ("keywords", "not_keywords") and isinstance(element, str):
        if not element:
            notes.warn("empty-text", path, "Empty text is part of every text.")
        elif len(element.split()) > LONG_KEYWORD:
            notes.info(
                "long-keyword",
                path,
                "Keywords match letter by letter: a long one seldom does.",
                "Consider gist.",
            )
    if test in ("gist", "not_gist") and not isinstance(element, str):
        notes.warn("type", path, f"A criterion is a sentence, not {kind(element)}.")
