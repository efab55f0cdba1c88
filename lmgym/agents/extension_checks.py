"""Checks that neuro-san does not have: regular expressions and JSON Schema.

Both are untrusted input and therefore bounded: patterns by length and time, schemas by length and number of steps. A
schema may refer only to itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

import regex
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema.validators import extend
from referencing import Registry

from lmgym.net.responses import STRICT

MAX_PATTERN = 1_000
"""Maximum length of a regular expression in characters."""
PATTERN_SECONDS = 1.0
MAX_SCHEMA = 20_000
"""Maximum length of a schema as JSON, in characters."""
MAX_VALUE = 1_000_000
"""Maximum length as JSON of a value compared with a schema, in characters."""
MAX_STEPS = 100_000
"""Maximum number of schema keywords evaluated, over all parts of a value."""
MAX_MESSAGE = 300
WITHIN_TEXT = "within_text"
"""Schema key that is not a JSON Schema keyword: search the text of the answer for JSON."""
MAX_FOUND = 100
"""Maximum number of objects and lists in a text that are compared."""
MAX_TRIES = 200
"""Number of brackets that begin no JSON after which the search in a text stops."""
NOT_SUPPORTED = ("patternProperties", "$dynamicRef", "$recursiveRef", "$vocabulary")

Result = tuple[Literal["pass", "fail", "error"], str]
"""Outcome and reason."""


class _TooMuch(Exception):
    """Raised if a limit is exceeded; the message names the limit."""


# --- regular expressions ---


def pattern_problem(pattern: Any) -> str:
    """Return why a pattern is invalid; empty if it is valid."""
    if not isinstance(pattern, str):
        return "A regular expression must be text. Put it in quotes."
    if len(pattern) > MAX_PATTERN:
        return f"A regular expression may have at most {MAX_PATTERN:,} characters; this one has {len(pattern):,}."
    try:
        regex.compile(pattern)
    except (regex.error, OverflowError, RecursionError, ValueError) as error:
        return f"This is not a valid regular expression: {error}."
    return ""


def search(pattern: str, value: Any) -> Result:
    """Search a text for a pattern."""
    if not isinstance(value, str):
        return "error", "A regular expression can only be applied to text."
    try:
        matches = _found(pattern, value)
    except _TooMuch as error:
        return "error", str(error)
    return ("pass" if matches else "fail"), ""


def _found(pattern: str, text: str) -> bool:
    try:
        return regex.search(pattern, text, timeout=PATTERN_SECONDS, concurrent=True) is not None
    except (regex.error, OverflowError, RecursionError, ValueError) as error:
        # The value of a variable made the pattern invalid.
        raise _TooMuch(f"This is not a valid regular expression: {error}.") from None
    except TimeoutError:
        raise _TooMuch(
            f"Matching the regular expression was stopped after {PATTERN_SECONDS:g} s on this answer. Make it simpler."
        ) from None


# --- JSON Schema ---


def schema_problem(schema: Any) -> str:
    """Return why a schema cannot be used; empty if it can."""
    if not isinstance(schema, dict):
        return "A JSON Schema must be an object, such as { type: object }."
    if len(json.dumps(schema)) > MAX_SCHEMA:
        return f"A JSON Schema may have at most {MAX_SCHEMA:,} characters as JSON."
    if not isinstance(schema.get(WITHIN_TEXT, False), bool):
        return f"{WITHIN_TEXT} must be true or false, without quotes."
    try:
        # Patterns are checked below, because this check would require them to be valid for `re`.
        Draft202012Validator.check_schema(schema, format_checker=FormatChecker(formats=()))
    except SchemaError as error:
        place = "".join(f".{part}" for part in error.absolute_path)
        return f"This is not a valid JSON Schema (2020-12): ${place}: {_in_json(error)}."
    except RecursionError:
        return "The JSON Schema is nested too deeply."
    return next(filter(None, map(_part_problem, _objects(schema))), "")


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
        if isinstance(node, dict | list):
            waiting += node.values() if isinstance(node, dict) else node


def _part_problem(part: dict[str, Any]) -> str:
    for name in NOT_SUPPORTED:
        if name in part:
            return f"JSON Schemas with {name} are not supported."
    if isinstance(part.get("$ref"), str) and not part["$ref"].startswith("#"):
        return 'A JSON Schema may refer only to itself ($ref: "#/$defs/…").'
    if isinstance(part.get("pattern"), str) and (problem := pattern_problem(part["pattern"])):
        return problem
    return ""


def fits(schema: dict[str, Any], value: Any, *, is_text: bool) -> Result:
    """Compare a value with a schema.

    `is_text`: the value is the text of an answer, which must be JSON, or contain JSON if the schema has `within_text:
    true`.
    """
    if not is_text:
        return _fits(schema, value, _Steps())
    try:
        return _fits(schema, STRICT.decode(value), _Steps())
    except RecursionError:
        return "fail", "The JSON in the text of the answer is nested too deeply."
    except json.JSONDecodeError:
        why = "The text of the answer is not JSON."
    except ValueError as error:  # raised by STRICT for NaN and infinities
        why = f"The text of the answer is not JSON: {error}."
    try:
        candidates = _json_within(value)
    except _TooMuch as error:
        return ("error", str(error)) if schema.get(WITHIN_TEXT) else ("fail", why)
    if not schema.get(WITHIN_TEXT):
        hint = (
            f" It contains JSON: set {WITHIN_TEXT}: true in the schema to search for it."
            if candidates
            else ""
        )
        return "fail", why + hint
    return _any_fits(schema, candidates)


def _any_fits(schema: dict[str, Any], candidates: list[Any]) -> Result:
    """Pass if any value fits; otherwise return the reason for the longest value."""
    if not candidates:
        return "fail", "The text of the answer contains no JSON object or list."
    steps = _Steps()
    results = [
        _fits(schema, value, steps) for value in sorted(candidates, key=lambda item: -len(json.dumps(item)))
    ]
    return next((item for item in results if item[0] == "pass"), results[0])


def _json_within(text: str) -> list[Any]:
    """Return the JSON objects and lists in a text: those in code fences or, if there are none, those anywhere.

    Raises _TooMuch.
    """
    if len(text) > MAX_VALUE:
        raise _TooMuch(
            f"The text of the answer has more than {MAX_VALUE:,} characters, so it is not searched for JSON."
        )
    fenced = (FENCE_LANGUAGE.sub("", part) for part in text.split("```")[1::2])
    values = [value for part in fenced if isinstance(value := _json_or_none(part), dict | list)]
    if values:
        return values[:MAX_FOUND]
    at = tries = 0
    while len(values) < MAX_FOUND and (bracket := BRACKET.search(text, at)):
        try:
            value, at = STRICT.raw_decode(text, bracket.start())
        except (ValueError, RecursionError):
            at, tries = bracket.end(), tries + 1
            if tries > MAX_TRIES:
                raise _TooMuch(
                    f"The search for JSON was stopped: more than {MAX_TRIES} brackets in the text begin no JSON."
                ) from None
        else:
            values.append(value)
    return values


FENCE_LANGUAGE = re.compile(r"\A[ \t]*[\w+-]*[ \t]*\r?\n")
BRACKET = re.compile(r"[{\[]")


def _json_or_none(text: str) -> Any:
    try:
        return STRICT.decode(text)
    except (ValueError, RecursionError):
        return None


def _fits(schema: dict[str, Any], value: Any, steps: _Steps) -> Result:
    if len(json.dumps(value)) > MAX_VALUE:
        return "error", f"The value has more than {MAX_VALUE:,} characters as JSON."
    rules = {
        name: partial(steps.count, rule)
        for name, rule in {**Draft202012Validator.VALIDATORS, **RULES}.items()
    }
    validator = extend(Draft202012Validator, rules)(schema, registry=Registry())
    try:
        error = best_match(validator.iter_errors(value))
    except _TooMuch as given_up:
        return "error", str(given_up)
    except RecursionError:
        return "error", "The JSON Schema refers to itself endlessly."
    except Exception as trouble:  # noqa: BLE001  an unresolvable reference raises one of many private classes
        return "error", f"The JSON Schema cannot be used: {str(trouble)[:MAX_MESSAGE]}."
    if error is None:
        return "pass", ""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return "fail", f"${place}: {_in_json(error)}"


def _in_json(error: ValidationError | SchemaError) -> str:
    """Return the library's message with values as JSON instead of Python literals."""
    message: str = error.message
    for value in (error.instance, error.validator_value):
        message = message.replace(repr(value), json.dumps(value, ensure_ascii=False, default=str))
    return message[:MAX_MESSAGE]


class _Steps:
    def __init__(self) -> None:
        self.left = MAX_STEPS

    def count(self, rule: Callable[..., Any], *arguments: Any) -> Iterator[ValidationError]:
        self.left -= 1
        if self.left < 0:
            raise _TooMuch(
                f"Checking against the JSON Schema was stopped after {MAX_STEPS:,} steps. Make it simpler."
            )
        yield from rule(*arguments) or ()


def _pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not _found(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _unique(validator: Any, required: bool, value: Any, schema: Any) -> Iterator[ValidationError]:
    """Check `uniqueItems` in linear time; 1 and 1.0 are the same number."""
    if required and isinstance(value, list) and len({_canonical(item) for item in value}) < len(value):
        yield ValidationError(f"{value!r} has non-unique elements")


def _canonical(value: Any) -> str:
    def plain(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: plain(below) for key, below in node.items()}
        if isinstance(node, list):
            return [plain(below) for below in node]
        return int(node) if isinstance(node, float) and node.is_integer() else node

    return json.dumps(plain(value), sort_keys=True)


RULES = {"pattern": _pattern, "uniqueItems": _unique}
