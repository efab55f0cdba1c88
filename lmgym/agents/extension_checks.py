"""Checks that neuro-san does not have: regular expressions and JSON Schema.

Both are untrusted input, so they are bounded: patterns by length and time, schemas by length and number of steps.
Schemas may refer only to themselves.
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
"""Characters of a regular expression."""
PATTERN_SECONDS = 1.0
MAX_SCHEMA = 20_000
"""Characters of a schema, as JSON."""
MAX_VALUE = 1_000_000
"""Characters of a value that is compared with a schema, as JSON."""
MAX_STEPS = 100_000
"""Keywords of a schema that are evaluated, for all parts of a value together."""
MAX_MESSAGE = 300
WITHIN_TEXT = "within_text"
"""A key of the schema, but no keyword of JSON Schema: search the text of the answer for JSON."""
MAX_FOUND = 100
"""Objects and lists in a text that are compared."""
MAX_TRIES = 200
"""Brackets in a text that begin no JSON, after which the search is given up."""
NOT_SUPPORTED = ("patternProperties", "$dynamicRef", "$recursiveRef", "$vocabulary")

Result = tuple[Literal["pass", "fail", "error"], str]
"""Outcome, and the reason."""


class _TooMuch(Exception):
    """A limit was exceeded; the message says which."""


# --- regular expressions ---


def pattern_problem(pattern: Any) -> str:
    """Return why this is not a valid pattern; empty if it is."""
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
        found = _found(pattern, value)
    except _TooMuch as error:
        return "error", str(error)
    return ("pass" if found else "fail"), ""


def _found(pattern: str, text: str) -> bool:
    try:
        return regex.search(pattern, text, timeout=PATTERN_SECONDS, concurrent=True) is not None
    except (regex.error, OverflowError, RecursionError, ValueError) as error:  # made of a variable's value
        raise _TooMuch(f"This is not a valid regular expression: {error}.") from None
    except TimeoutError:
        raise _TooMuch(
            f"Matching the regular expression was stopped after {PATTERN_SECONDS:g} s on this answer. Make it simpler."
        ) from None


# --- JSON Schema ---


def schema_problem(schema: Any) -> str:
    """Return why this is not a usable schema; empty if it is."""
    if not isinstance(schema, dict):
        return "A JSON Schema must be an object, such as { type: object }."
    if len(json.dumps(schema)) > MAX_SCHEMA:
        return f"A JSON Schema may have at most {MAX_SCHEMA:,} characters as JSON."
    if not isinstance(schema.get(WITHIN_TEXT, False), bool):
        return f"{WITHIN_TEXT} must be true or false, without quotes."
    try:
        # Patterns are checked below: here they would have to be valid for `re`.
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
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
        if isinstance(one, dict | list):
            waiting += one.values() if isinstance(one, dict) else one


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

    `is_text`: the value is the text of an answer, which has to be JSON, or to contain some if the schema has
    `within_text: true`.
    """
    if not is_text:
        return _fits(schema, value, _Steps())
    try:
        return _fits(schema, STRICT.decode(value), _Steps())
    except RecursionError:
        return "fail", "The JSON in the text of the answer is nested too deeply."
    except json.JSONDecodeError:
        why = "The text of the answer is not JSON."
    except ValueError as error:  # of STRICT: NaN and the like
        why = f"The text of the answer is not JSON: {error}."
    try:
        found = _json_within(value)
    except _TooMuch as error:
        return ("error", str(error)) if schema.get(WITHIN_TEXT) else ("fail", why)
    if not schema.get(WITHIN_TEXT):
        hint = f" It contains some: set {WITHIN_TEXT}: true in the schema to search for it." if found else ""
        return "fail", why + hint
    return _any_fits(schema, found)


def _any_fits(schema: dict[str, Any], found: list[Any]) -> Result:
    """Pass if one of these values fits; otherwise the reason is that of the longest."""
    if not found:
        return "fail", "The text of the answer contains no JSON object or list."
    steps = _Steps()
    results = [_fits(schema, value, steps) for value in sorted(found, key=lambda one: -len(json.dumps(one)))]
    return next((one for one in results if one[0] == "pass"), results[0])


def _json_within(text: str) -> list[Any]:
    """Return JSON objects and lists in a text: those in code fences, otherwise all that begin with a bracket.

    Raises _TooMuch.
    """
    if len(text) > MAX_VALUE:
        raise _TooMuch(f"The text has more than {MAX_VALUE:,} characters.")
    fenced = (FENCE_LANGUAGE.sub("", part) for part in text.split("```")[1::2])
    found = [value for part in fenced if isinstance(value := _json_or_none(part), dict | list)]
    if found:
        return found[:MAX_FOUND]
    at = tries = 0
    while len(found) < MAX_FOUND and (bracket := BRACKET.search(text, at)):
        try:
            value, at = STRICT.raw_decode(text, bracket.start())
        except (ValueError, RecursionError):
            at, tries = bracket.end(), tries + 1
            if tries > MAX_TRIES:
                raise _TooMuch(
                    f"No JSON was found after {MAX_TRIES} brackets, so the search was stopped."
                ) from None
        else:
            found.append(value)
    return found


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
    except Exception as trouble:  # noqa: BLE001  a reference that leads nowhere has one of many private classes
        return "error", f"The JSON Schema cannot be used: {str(trouble)[:MAX_MESSAGE]}."
    if error is None:
        return "pass", ""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return "fail", f"${place}: {_in_json(error)}"


def _in_json(error: ValidationError | SchemaError) -> str:
    """Return the library's message, with values as JSON instead of Python literals."""
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
    """In linear time; 1 and 1.0 are one number."""
    if required and isinstance(value, list) and len({_canonical(one) for one in value}) < len(value):
        yield ValidationError(f"{value!r} has non-unique elements")


def _canonical(value: Any) -> str:
    def plain(one: Any) -> Any:
        if isinstance(one, dict):
            return {key: plain(below) for key, below in one.items()}
        if isinstance(one, list):
            return [plain(below) for below in one]
        return int(one) if isinstance(one, float) and one.is_integer() else one

    return json.dumps(plain(value), sort_keys=True)


RULES = {"pattern": _pattern, "uniqueItems": _unique}
