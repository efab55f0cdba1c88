"""The stock tests but gist: expected value and answer in, outcome out. Pure.

Where the reference's code turns `less` and `greater` round, the reading decides; the order of the operands is part of
every result, so that nobody has to guess.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from gym.conversations.cases import Check, Reading
from gym.conversations.cases.response import SPECIAL

Outcome = Literal["pass", "fail", "error", "timeout", "skipped"]
OUTCOMES: tuple[Outcome, ...] = ("pass", "fail", "error", "timeout", "skipped")
VERDICTS: tuple[Outcome, ...] = ("pass", "fail", "timeout")
"""Outcomes that count in a rate. An error says nothing about the agent; a timeout is an answer that did not come in the
time there was for it."""

_ORDERS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "less": ("<", operator.lt),
    "not_less": (">=", operator.ge),
    "greater": (">", operator.gt),
    "not_greater": ("<=", operator.le),
}
SHOWN = 120


@dataclass(frozen=True)
class Verdict:
    """`comparison` is the statement that was tested, operands in their order."""

    outcome: Outcome
    comparison: str
    message: str = ""


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


def value_at(part: Any, check: Check, reading: Reading) -> Any:
    """What stands at the check's path of a part of the answer, or MISSING. A null there is missing, too."""
    value = part
    for key in check.path:
        if reading == "reference-compatible" and SPECIAL & set(key):
            return MISSING
        if not isinstance(value, dict) or key not in value:
            return MISSING
        value = value[key]
    return MISSING if value is None else value


def skipped_by(check: Check, reading: Reading) -> str:
    """Why a check is not made, or nothing."""
    if reading == "reference-compatible" and any("." in key for key in check.path):
        return "neuro-san never looks at keys with a dot"
    return check.skipped


def apply(check: Check, actual: Any, reading: Reading) -> Verdict:
    """The verdict on a check other than gist. Missing data fails every test, the negated ones included."""
    if actual is MISSING:
        ordered = reading == "reference-compatible" and check.test in _ORDERS and not check.only_present
        message = "The answer has nothing here."
        return Verdict("error" if ordered else "fail", "value is there", message)
    if check.only_present:
        return Verdict("pass", "value is there")
    expected, shown, tested = check.expected, shorten(check.expected), shorten(actual)
    try:
        if check.test in ("value", "not_value"):
            equal = bool(expected == actual)
            negated = check.test == "not_value"
            return _verdict(equal != negated, f"expected {shown} {'!=' if negated else '=='} answer {tested}")
        if check.test in ("keywords", "not_keywords"):
            negated = check.test == "not_keywords"
            inside = bool(expected in actual)
            return _verdict(
                inside != negated, f"expected {shown} {'not in' if negated else 'in'} answer {tested}"
            )
        sign, holds = _ORDERS[check.test]
        if reading == "reference-compatible":
            return _verdict(bool(holds(expected, actual)), f"expected {shown} {sign} answer {tested}")
        return _verdict(bool(holds(actual, expected)), f"answer {tested} {sign} expected {shown}")
    except TypeError:
        kinds = f"{kind_of(expected)} and {kind_of(actual)}"
        word = "have no order" if check.test in _ORDERS else "cannot be searched for each other"
        return Verdict(
            "error",
            f"expected {shown}, answer {tested}",
            f"Expected value and answer are {kinds}: they {word}.",
        )


def _verdict(passed: bool, comparison: str) -> Verdict:
    return Verdict("pass" if passed else "fail", comparison)


def kind_of(value: Any) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "nothing")


def shorten(value: Any, limit: int = SHOWN) -> str:
    """A value as a message shows it."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
