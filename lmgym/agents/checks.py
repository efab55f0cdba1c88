"""The built-in tests, except gist.

neuro-san's code swaps the operands of `less` and `greater`. `Reading` selects the order, and every result shows its
operands in the order used.
"""

from __future__ import annotations

import json
import operator
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from lmgym.agents import extension_checks
from lmgym.agents.case_reader import SPECIAL, kind
from lmgym.agents.cases import EXTENSIONS, ORDERED, Check, Reading

Outcome = Literal["pass", "fail", "error", "timeout", "skipped"]
OUTCOMES: tuple[Outcome, ...] = ("pass", "fail", "error", "timeout", "skipped")
VERDICTS: tuple[Outcome, ...] = ("pass", "fail", "timeout")
"""Outcomes that count towards a rate: errors reveal nothing about the agent, while a timeout is a late answer."""

_TESTS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "value": ("==", operator.eq),
    "not_value": ("!=", operator.ne),
    "keywords": ("in", lambda expected, actual: expected in actual),
    "not_keywords": ("not in", lambda expected, actual: expected not in actual),
    "less": ("<", operator.lt),
    "not_less": (">=", operator.ge),
    "greater": (">", operator.gt),
    "not_greater": ("<=", operator.le),
}
SHOWN = 120
UNICODE_FORM = (
    "The texts differ only in Unicode form (é as one character or two, a no-break space, a ligature)."
)


@dataclass(frozen=True)
class Verdict:
    """Outcome of a check. `comparison` is the test with its operands in the order used."""

    outcome: Outcome
    comparison: str
    message: str = ""


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


def value_at(part: Any, check: Check, reading: Reading) -> Any:
    """Return the value at a check's path, or MISSING. A null counts as missing; in the reference-compatible reading,
    so does every value whose path has a key that neuro-san's parser keeps in quotes."""
    value = part
    for key in check.path:
        if reading == "reference-compatible" and SPECIAL & set(key):
            return MISSING
        if not isinstance(value, dict) or key not in value:
            return MISSING
        value = value[key]
    return MISSING if value is None else value


def skipped_by(check: Check, reading: Reading) -> str:
    """Return why a check is skipped; empty if it is not."""
    if reading == "reference-compatible" and any("." in key for key in check.path):
        return "neuro-san ignores keys with a dot"
    if reading == "reference-compatible" and check.test in EXTENSIONS:
        return f"neuro-san has no test {check.test}"
    return check.skipped


def apply_check(check: Check, actual: Any, reading: Reading) -> Verdict:
    """Return the verdict of a check other than gist. A missing value fails every test, including negated tests; in the
    reference-compatible reading it is an error for tests of order (less, greater)."""
    ordered = check.test in ORDERED
    if actual is MISSING:
        breaks = ordered and reading == "reference-compatible" and not check.only_present
        return Verdict("error" if breaks else "fail", "no such value in the answer")
    if check.only_present:
        return Verdict("pass", "the value exists")
    if check.test in EXTENSIONS:
        return _extension(check, actual)
    expected, answer = f"expected {shorten(check.expected)}", f"answer {shorten(actual)}"
    sign, relation = _TESTS[check.test]
    try:
        if ordered and reading == "document":
            passed, comparison = relation(actual, check.expected), f"{answer} {sign} {expected}"
        else:
            passed, comparison = relation(check.expected, actual), f"{expected} {sign} {answer}"
    except TypeError:
        if ordered:
            message = f"{kind(check.expected)} and {kind(actual)} cannot be ordered"
        else:
            message = f"{kind(actual)} cannot be searched for {kind(check.expected)}"
        return Verdict("error", f"{expected}, {answer}", message)
    differs_in_form = not ordered and bool(
        relation(_normalised(check.expected), _normalised(actual))
    ) != bool(passed)
    return Verdict("pass" if passed else "fail", comparison, UNICODE_FORM if differs_in_form else "")


def _normalised(value: Any) -> Any:
    """Return a JSON value with all texts normalised to NFKC."""
    if isinstance(value, str):
        return unicodedata.normalize("NFKC", value)
    if isinstance(value, dict):
        return {_normalised(key): _normalised(below) for key, below in value.items()}
    return [_normalised(below) for below in value] if isinstance(value, list) else value


def _extension(check: Check, actual: Any) -> Verdict:
    negated = check.test.startswith("not_")
    if check.test.endswith("regex"):
        outcome, why = extension_checks.search(check.expected, actual)
        verb = "match"
    else:
        outcome, why = extension_checks.fits(check.expected, actual, is_text=check.part == "text")
        verb = "fit"
    if negated and outcome != "error":
        outcome, why = ("fail", "") if outcome == "pass" else ("pass", "")
    answer, expected = f"answer {shorten(actual)}", shorten(check.expected)
    return Verdict(outcome, f"{answer} expected {'not ' if negated else ''}to {verb} {expected}", why)


def shorten(value: Any, limit: int = SHOWN) -> str:
    """Format a value for a message: as JSON, truncated."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= limit else text[: limit - 1] + "…"
