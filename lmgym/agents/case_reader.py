"""Read a test case from HOCON and report errors, warnings and remarks with path and line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from lmgym.agents.cases import (
    CONNECTIONS,
    EXTENSIONS,
    FILTERS,
    MAX_ITERATIONS,
    ORDERED,
    PARTS,
    TESTS,
    UNSUPPORTED,
    CaseError,
    Check,
    Interaction,
    Problem,
    Ratio,
    TestCase,
)
from lmgym.agents.extension_checks import WITHIN_TEXT, pattern_problem, schema_problem
from lmgym.agents.hocon import Document, HoconError, KeyPath, read
from lmgym.text.near_names import nearest_name

# --- collecting problems with path and line ---

MAX_NOTES = 1_000
MAX_LENGTH = 400
"""Maximum length of a message or path in characters; a name may be as long as the document."""


def shown_path(path: KeyPath) -> str:
    """Format a path, such as interactions[0].response.text."""
    out = ""
    for part in path:
        if isinstance(part, int):
            out += f"[{part}]"
        else:
            out += ("." if out else "") + (part if part.replace("_", "").isalnum() else f'"{part}"')
    return out


def kind(value: Any) -> str:
    """Return the name of a JSON value's type for a message."""
    names = {
        dict: "an object",
        list: "a list",
        str: "text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else names[type(value)]


def near(name: str, known: Iterable[str]) -> str:
    """Return a hint with the known name most similar to `name`; if none is similar, with all known names."""
    words = list(known)
    close = nearest_name(name.lower(), words)
    return f"Did you mean {close}?" if close else f"Expected one of {', '.join(words)}."


def _short(text: str) -> str:
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"


class Notes:
    """Problems found in a document: at most MAX_NOTES errors, and at most MAX_NOTES warnings and remarks."""

    def __init__(self, document: Document, *, secret: bool = False) -> None:
        self.document = document
        self.secret = secret and bool(document.variables)
        """True if the document contains values of variables that its author may not see; problems could reveal them."""
        self.problems: list[Problem] = []
        self._left = {True: MAX_NOTES, False: MAX_NOTES}

    def add(
        self,
        severity: Literal["error", "warning", "info"],
        code: str,
        path: KeyPath,
        message: str,
        hint: str = "",
        place: tuple[int, int] | None = None,
    ) -> None:
        error = severity == "error"
        self._left[error] -= 1
        if self._left[error] < 0:
            return
        if not self._left[error]:
            severity, code, path, hint, place = "error" if error else "info", "too-many", (), "", None
            message = f"Only the first {MAX_NOTES - 1:,} {'problems' if error else 'remarks'} are listed."
        line, column = place or (self.document.place(path) if path else (0, 0))
        where = _short(shown_path(path))
        self.problems.append(Problem(severity, code, where, line, column, _short(message), hint))

    def error(self, code: str, path: KeyPath, message: str, hint: str = "") -> None:
        self.add("error", code, path, message, hint)

    def warn(self, code: str, path: KeyPath, message: str, hint: str = "") -> None:
        self.add("warning", code, path, message, hint)

    def info(self, code: str, path: KeyPath, message: str, hint: str = "") -> None:
        self.add("info", code, path, message, hint)

    def remarks(self) -> None:
        """Add remarks from the HOCON reader."""
        for remark in self.document.remarks:
            self.add(
                "info" if remark.code == "spelling" else "warning",
                remark.code,
                remark.path,
                remark.message,
                remark.hint,
                (remark.line, remark.column),
            )

    def unknown_keys(self, keys: Iterable[str], known: tuple[str, ...], path: KeyPath) -> None:
        for key in keys:
            if key not in known:
                self.unknown(
                    "unknown-key", (*path, key), f"The key {key} is unknown here and is ignored.", known
                )

    def unknown(self, code: str, path: KeyPath, message: str, known: tuple[str, ...]) -> None:
        """Warn about an unknown name and, if the warning is kept, suggest the most similar known name."""
        self.warn(code, path, message, near(str(path[-1]), known) if self._left[False] > 0 else "")

    @property
    def failed(self) -> bool:
        return any(problem.severity == "error" for problem in self.problems)


# --- single values: ratios, times, headers ---

MAX_CONNECTIONS = 20
INTEGER = re.compile(r"[+-]?[0-9]{1,9}")
DURATION = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?) *([a-zµ]+)")
SECONDS = {
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("us", "µs", "micro", "micros", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
"""Seconds per HOCON time unit."""
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
RESERVED_HEADERS = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "content-type", "te", "trailer", "upgrade", "expect",
     "proxy-authorization", "accept-encoding", "cookie")
)  # fmt: skip
"""Headers, in lower case, that a case may not set."""


def _ratio(value: Any, path: KeyPath, notes: Notes) -> Ratio:
    """Read success_ratio, a text such as "2/3"."""
    if value is None:
        return Ratio(1, 1, "1/1")
    example = 'Write it as text, such as "2/3".'
    parts = [part.strip() for part in value.split("/")] if isinstance(value, str) else []
    if len(parts) < 2 or not INTEGER.fullmatch(parts[0]) or not INTEGER.fullmatch(parts[-1]):
        notes.error("ratio", path, f"{value!r} is not a ratio of two whole numbers.", example)
        return Ratio(1, 1, "1/1")
    needed, iterations = int(parts[0]), int(parts[-1])
    if needed < 0 or iterations < 0 or iterations > MAX_ITERATIONS:
        notes.error("ratio", path, f"Both numbers must be between 0 and {MAX_ITERATIONS}.", example)
        return Ratio(1, 1, "1/1")
    if len(parts) > 2:
        notes.warn("ratio", path, f"Only the first and last numbers of {value} are used.", example)
    if iterations == 0:
        notes.warn("ratio", path, "0 iterations cannot be run; 1 is run instead.")
    iterations = max(1, iterations)
    if needed > iterations:
        notes.warn(
            "ratio",
            path,
            f"There cannot be more passes ({needed}) than iterations ({iterations}); all must pass instead.",
        )
    if needed == 0:
        notes.warn(
            "ratio",
            path,
            "With 0 required passes this case cannot fail.",
            "neuro-san 0.7.15 requires one success anyway.",
        )
    return Ratio(min(needed, iterations), iterations, value.strip())


def _seconds(value: Any, path: KeyPath, notes: Notes) -> float | None:
    """Read timeout_in_seconds, a number. HOCON durations are accepted with a warning."""
    if value is None:
        return None
    if isinstance(value, str) and (match := DURATION.fullmatch(value.strip())) and match[2] in SECONDS:
        number = float(match[1]) * SECONDS[match[2]]
        notes.warn("duration", path, "neuro-san cannot read a time with a unit.", f"Write {number:g}.")
    elif isinstance(value, bool) or not isinstance(value, int | float):
        notes.error("type", path, f"Expected a number of seconds, not {kind(value)}.")
        return None
    else:
        number = float(value)
    if not math.isfinite(number) or number > 1e9:
        notes.error("limit", path, "The timeout is too long: at most 1,000,000,000 seconds are allowed.")
        return None
    if number <= 0:
        notes.warn("timeout", path, "With this timeout, every request times out.")
    return number


def _boolean(value: Any, default: bool, path: KeyPath, notes: Notes) -> bool:
    if value is None:
        return default
    if not isinstance(value, bool):
        notes.error(
            "type",
            path,
            f"Expected true or false, not {value!r}.",
            "Write it without quotes; yes and on are text.",
        )
        return default
    return value


def _text(value: Any, path: KeyPath, notes: Notes) -> str | None:
    if value is None or isinstance(value, str):
        return value
    notes.error("type", path, f"Expected text, not {kind(value)}.", "Put it in quotes.")
    return None


def _dictionary(value: Any, path: KeyPath, notes: Notes) -> dict[str, Any] | None:
    if value is None or isinstance(value, dict):
        return value
    notes.error("type", path, f"Expected an object {{…}}, not {kind(value)}.")
    return None


def _connections(value: Any, path: KeyPath, notes: Notes) -> tuple[str, ...]:
    if value is None:
        return ("direct",)
    names = value if isinstance(value, list) else [value]
    if not names:
        notes.warn("no-connections", path, "Without a connection nothing is sent, and every iteration fails.")
    if len(names) > MAX_CONNECTIONS:
        notes.error("limit", path, f"A case may have at most {MAX_CONNECTIONS} connections.")
        return ()
    for number, name in enumerate(names):
        here = (*path, number) if isinstance(value, list) else path
        if not isinstance(name, str):
            notes.error("type", here, f"A connection must be text, not {kind(name)}.", near("", CONNECTIONS))
        elif name in UNSUPPORTED:
            message = f"Connections over {name} are not supported, so this case cannot be run here."
            notes.warn("connection-unsupported", here, message, "Use http.")
        elif name not in CONNECTIONS:
            notes.error("connection", here, f"Unknown connection {name!r}.", near(name, CONNECTIONS))
        elif name == "direct":
            message = "“direct” does not run the agent in the same process here: it calls the chosen server."
            notes.info("connection-direct", here, message)
    return tuple(name for name in names if isinstance(name, str))


def _metadata(value: Any, path: KeyPath, notes: Notes) -> dict[str, Any] | None:
    """Read request headers."""
    headers = _dictionary(value, path, notes)
    for name, content in (headers or {}).items():
        here = (*path, name)
        if not HEADER.fullmatch(name) or name.lower() in RESERVED_HEADERS:
            notes.error(
                "metadata", here, f"A case cannot set the header {name!r}: the name is invalid or reserved."
            )
        elif isinstance(content, dict | list):
            notes.error("metadata", here, f"A header value must be text, not {kind(content)}.")
        elif isinstance(content, str):
            if any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in content):
                notes.error("metadata", here, "A header cannot contain line breaks or control characters.")
            elif not content.isascii():
                notes.error("metadata", here, "A header can contain only ASCII characters.")
        elif content is not None:
            message = (
                "Headers are text: this value is sent as text here, but breaks the request in neuro-san."
            )
            notes.warn("metadata", here, message, "Put it in quotes.")
    return headers


def _chat_filter(value: Any, path: KeyPath, notes: Notes) -> str:
    text = _text(value, path, notes)
    if text is None:
        return "MINIMAL"
    if text.upper() not in FILTERS:
        notes.warn("chat-filter", path, f"Servers treat {text!r} as MINIMAL.", near(text, FILTERS))
    return text


# --- checks of an interaction, with warnings about expectations that would silently check nothing ---

SPECIAL = frozenset('$"{}[]:=,+#`^?!@*&\\.')
"""Characters that make neuro-san's parser keep a key's quotes or split the key."""
LONG_KEYWORD = 5
SCHEMAS = ("json_schema", "not_json_schema")
"""Tests whose expectation is an object."""


def checks_of(response: dict[str, Any] | None, path: KeyPath, notes: Notes) -> tuple[Check, ...]:
    """Return all checks in neuro-san's order: parts in a fixed order, breadth-first within a part."""
    checks: list[Check] = []
    parts = response or {}
    for key in parts:
        if key not in PARTS:
            message = f"Answers have no part {key}, so nothing is checked."
            notes.unknown("unknown-part", (*path, key), message, PARTS)
            checks.append(_skipped(notes, path, key, (), "", f"answers have no part {key!r}"))
    for part in PARTS:
        if part in parts:
            checks += _walk(parts[part], part, (*path, part), notes)
    return tuple(checks)


def _walk(value: Any, part: str, path: KeyPath, notes: Notes) -> list[Check]:
    if value is None:
        notes.warn("null", path, "null checks nothing.")
        return [_skipped(notes, path[:-1], part, (), "", "null checks nothing")]
    if not isinstance(value, dict):
        hint = f"Name a test, such as {part} {{ keywords: … }}."
        notes.warn("bare-part", path, f"{kind(value).capitalize()} without a test checks nothing.", hint)
        return [_skipped(notes, path[:-1], part, (), "", "no test is named")]
    checks: list[Check] = []
    waiting: list[tuple[dict[str, Any], tuple[str, ...]]] = [(value, ())]
    while waiting:
        group, keys = waiting.pop(0)
        if not group:
            here = (*path, *keys)
            notes.warn("empty", here, "An empty object checks nothing.")
            line, _ = notes.document.place(here)
            checks.append(Check(part, keys, "", skipped="an empty object checks nothing", line=line))
        for name, expected in group.items():
            here = (*path, *keys, name)
            if isinstance(expected, dict) and name.lower() not in SCHEMAS:
                _remark_on_key(name, here, notes)
                if name.lower() in TESTS and expected and not any(key.lower() in TESTS for key in expected):
                    hint = f"To compare with an object, put it in a list: {name}: [{{…}}]."
                    notes.warn("nested-test", here, f"{name} is read as a key of the answer here.", hint)
                waiting.append((expected, (*keys, name)))
            elif expected is None:
                notes.warn("null", here, "null checks nothing.")
                checks.append(_skipped(notes, here[:-1], part, keys, name, "null checks nothing"))
            else:
                checks += _checks(name, expected, part, keys, here, notes)
    return checks


def _checks(
    name: str, expected: Any, part: str, keys: tuple[str, ...], path: KeyPath, notes: Notes
) -> list[Check]:
    test = name.lower()
    if test not in TESTS:
        notes.unknown("unknown-test", path, f"There is no test {name}: nothing is checked.", TESTS)
        return [_skipped(notes, path[:-1], part, keys, name, f"there is no test {name!r}")]
    line, _ = notes.document.place(path)
    if expected == [] and isinstance(expected, list):
        notes.warn("empty-list", path, "An empty list checks only that the value exists.")
        return [Check(part, keys, test, only_present=True, line=line)]
    if not isinstance(expected, list):
        expected, several = [expected], False
    else:
        several = True
    checks = []
    for number, element in enumerate(expected):
        here = (*path, number) if several else path
        _remark_on_expectation(test, element, part, keys, here, notes)
        place, _ = notes.document.place(here)
        checks.append(Check(part, keys, test, element, number if several else None, line=place))
    return checks


def _skipped(notes: Notes, path: KeyPath, part: str, keys: tuple[str, ...], test: str, why: str) -> Check:
    line, _ = notes.document.place((*path, test or part))
    return Check(part, keys, test, skipped=why, line=line)


def _remark_on_key(name: str, path: KeyPath, notes: Notes) -> None:
    if "." in name:
        notes.info("dotted-key", path, "neuro-san ignores keys with a dot, so this checks nothing there.")
    elif SPECIAL & set(name):
        notes.info(
            "quoted-key", path, "neuro-san keeps the quotes of such a key, so this always fails there."
        )


def _remark_on_expectation(
    test: str, element: Any, part: str, keys: tuple[str, ...], path: KeyPath, notes: Notes
) -> None:
    of_text = part == "text" and not keys
    if test in EXTENSIONS:
        _remark_on_extension(test, element, path, notes, of_text=of_text)
    if part == "text" and keys:
        notes.warn("text-key", path, "The text of an answer has no keys, so this always fails.")
    elif of_text and test in ("keywords", "not_keywords") and not isinstance(element, str):
        notes.warn(
            "type",
            path,
            f"Text can only be searched for text: {kind(element)} is always an error.",
            "Put it in quotes.",
        )
    elif of_text and test == "value" and not isinstance(element, str):
        notes.warn(
            "type", path, f"Text never equals {kind(element)}: this always fails.", "Put it in quotes."
        )
    elif of_text and test == "not_value" and not isinstance(element, str):
        notes.warn("type", path, f"Text never equals {kind(element)}: this passes for every answer.")
    elif of_text and test in ORDERED and not isinstance(element, str):
        notes.warn("type", path, f"Text and {kind(element)} cannot be ordered: this is always an error.")
    if test in ORDERED:
        message = f"neuro-san swaps the operands of {test}: it compares the expected value with the answer."
        notes.info("operand-order", path, message)
    if test in ("keywords", "not_keywords") and isinstance(element, str):
        if not element:
            notes.warn("empty-text", path, "Every text contains an empty keyword.")
        elif len(element.split()) > LONG_KEYWORD:
            notes.info(
                "long-keyword",
                path,
                "Keywords are matched literally; a long one rarely matches.",
                "Consider gist.",
            )
    if test in ("gist", "not_gist") and not isinstance(element, str):
        notes.warn("type", path, f"A criterion must be a sentence, not {kind(element)}.")


def _remark_on_extension(test: str, element: Any, path: KeyPath, notes: Notes, *, of_text: bool) -> None:
    problem = schema_problem(element) if test in SCHEMAS else pattern_problem(element)
    if problem and not notes.secret:
        notes.error("own-test", path, problem)
    if test in SCHEMAS and isinstance(element, dict) and WITHIN_TEXT in element and not of_text:
        notes.warn(
            "own-test", path, f"{WITHIN_TEXT} applies to the text of an answer and has no effect here."
        )
    message = f"{test} is not in neuro-san, which ignores it."
    notes.info("own-test", path, message)


# --- the case ---

TOP = (
    "agent", "connections", "success_ratio", "use_direct", "metadata", "timeout_in_seconds", "interactions",
    "failure_patterns", "ignore_thinking",
)  # fmt: skip
TURN = ("text", "sly_data", "timeout_in_seconds", "chat_filter", "continue_conversation", "response")
MAX_INTERACTIONS = 200
MAX_CHECKS = 2000


def read_case(
    data: bytes | str, variables: Mapping[str, str] | None = None, *, secret: bool = False
) -> TestCase:
    """Read a case; `findings` has warnings and remarks. Raises CaseError with all errors.

    `secret`: see `parse_case`.
    """
    case, problems = parse_case(data, variables, secret=secret)
    if case is None:
        raise CaseError([problem for problem in problems if problem.severity == "error"])
    return case


def parse_case(
    data: bytes | str, variables: Mapping[str, str] | None = None, *, secret: bool = False
) -> tuple[TestCase | None, list[Problem]]:
    """Return the case (None if it has errors) and all its problems.

    `secret`: the case's author is not allowed to see the values of variables. Patterns and schemas that contain such
    values are then not checked, because a problem could reveal part of a value.
    """
    try:
        document = read(data, variables)
    except HoconError as error:
        where = f"column {error.column}" if error.column else ""
        return None, [
            Problem("error", error.code, where, error.line, error.column, error.message, error.hint)
        ]
    notes = Notes(document, secret=secret)
    if not isinstance(document.value, dict):
        notes.error("type", (), f"A test case must be an object, not {kind(document.value)}.")
        return None, notes.problems
    notes.remarks()
    case = _case(document.value, document, notes)
    problems = sorted(notes.problems, key=lambda problem: (problem.line, problem.column))
    if notes.failed:
        return None, problems
    return replace(case, findings=tuple(problems)), problems


def _case(value: dict[str, Any], document: Document, notes: Notes) -> TestCase:
    notes.unknown_keys(value, TOP, ())
    agent = _text(value.get("agent"), ("agent",), notes)
    if value.get("agent") is None:
        notes.error(
            "no-agent", ("agent",) if "agent" in value else (), "The case names no agent.", 'Add agent: "…".'
        )
    elif agent is not None and not agent.strip("/ "):
        notes.error("no-agent", ("agent",), "The agent's name is empty.")
    elif agent is not None and agent.endswith((".hocon", ".json")):
        notes.warn(
            "agent-file",
            ("agent",),
            "Agents cannot be started from files here. Enter the name of an agent on the server.",
        )
    elif agent is not None and (
        any(part in ("", ".", "..") for part in agent.split("/")) or _has_invalid_characters(agent)
    ):
        notes.error("agent", ("agent",), f"{agent!r} is not a valid agent name.")
    use_direct = _boolean(value.get("use_direct"), False, ("use_direct",), notes)
    if use_direct:
        message = "use_direct has no effect: the server decides how it calls other agents."
        notes.info("use-direct", ("use_direct",), message)
    if "failure_patterns" in value:
        notes.info(
            "failure-patterns",
            ("failure_patterns",),
            "failure_patterns is for load tests and checks nothing here.",
        )
    ignores_thinking = _boolean(value.get("ignore_thinking"), False, ("ignore_thinking",), notes)
    if ignores_thinking:
        message = "neuro-san ignores ignore_thinking and checks thoughts as part of the text."
        notes.info("own-key", ("ignore_thinking",), message)
    interactions = tuple(
        replace(turn, ignores_thinking=ignores_thinking)
        for turn in _interactions(value.get("interactions"), notes)
    )
    case = TestCase(
        agent=agent or "",
        connections=_connections(value.get("connections"), ("connections",), notes),
        ratio=_ratio(value.get("success_ratio"), ("success_ratio",), notes),
        use_direct=use_direct,
        metadata=_metadata(value.get("metadata"), ("metadata",), notes),
        timeout=_seconds(value.get("timeout_in_seconds"), ("timeout_in_seconds",), notes),
        interactions=interactions,
        variables=document.variables,
        document=value,
    )
    if interactions and not case.n_checks:
        written = any(turn.checks for turn in interactions)
        effect = "is skipped, not passed," if written else "passes"
        message = f"Nothing is checked: this case {effect} for every answer."
        notes.warn("no-checks", ("interactions",), message)
    if sum(len(turn.checks) for turn in interactions) > MAX_CHECKS:
        notes.error("limit", ("interactions",), f"A case may have at most {MAX_CHECKS:,} checks.")
    return case


def _has_invalid_characters(agent: str) -> bool:
    return any(sign in "?#%\\" or ord(sign) <= 32 or ord(sign) == 127 for sign in agent)


def _interactions(value: Any, notes: Notes) -> tuple[Interaction, ...]:
    path: KeyPath = ("interactions",)
    if value is None or value == []:
        where: KeyPath = path if value is not None else ()
        notes.warn("no-interactions", where, "The case has no interactions, so every iteration fails.")
        return ()
    if not isinstance(value, list):
        notes.error(
            "type", path, f"Expected a list of interactions, not {kind(value)}.", "Write [ {…}, {…} ]."
        )
        return ()
    if len(value) > MAX_INTERACTIONS:
        notes.error("limit", path, f"A case may have at most {MAX_INTERACTIONS} interactions.")
        return ()
    return tuple(_interaction(turn, (*path, number), notes) for number, turn in enumerate(value))


def _interaction(value: Any, path: KeyPath, notes: Notes) -> Interaction:
    turn = _dictionary(value, path, notes)
    if turn is None:
        if value is None:
            notes.error("type", path, "An interaction must be an object {…}, not null.")
        return Interaction()
    notes.unknown_keys(turn, TURN, path)
    if turn.get("text") is None:
        notes.info("no-text", path, "There is no text, so null is sent to the server.")
    response = _dictionary(turn.get("response"), (*path, "response"), notes)
    return Interaction(
        text=_text(turn.get("text"), (*path, "text"), notes),
        sly_data=_dictionary(turn.get("sly_data"), (*path, "sly_data"), notes),
        timeout=_seconds(turn.get("timeout_in_seconds"), (*path, "timeout_in_seconds"), notes),
        chat_filter=_chat_filter(turn.get("chat_filter"), (*path, "chat_filter"), notes),
        continues=_boolean(turn.get("continue_conversation"), True, (*path, "continue_conversation"), notes),
        checks=checks_of(response, (*path, "response"), notes),
    )
