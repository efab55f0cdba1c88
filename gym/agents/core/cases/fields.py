"""Reading single values of a test case: ratios, times, headers. Each function notes what is wrong with its value."""

from __future__ import annotations

import math
import re
from typing import Any

from gym.agents.core.cases.model import CONNECTIONS, FILTERS, MAX_ITERATIONS, UNSUPPORTED, Ratio
from gym.agents.core.cases.notes import Notes, kind, near
from gym.agents.core.hocon import KeyPath

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
"""HOCON's units of time."""
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
TAKEN = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "content-type", "te", "trailer", "upgrade", "expect",
     "proxy-authorization", "accept-encoding", "cookie")
)  # fmt: skip
"""Headers that the connection sets itself."""


def ratio(value: Any, path: KeyPath, notes: Notes) -> Ratio:
    """success_ratio: text "n/m"."""
    if value is None:
        return Ratio(1, 1, "1/1")
    example = 'Write it as text, such as "2/3".'
    parts = [part.strip() for part in value.split("/")] if isinstance(value, str) else []
    if len(parts) < 2 or not INTEGER.fullmatch(parts[0]) or not INTEGER.fullmatch(parts[-1]):
        notes.error("ratio", path, f"{value!r} is no ratio of two whole numbers.", example)
        return Ratio(1, 1, "1/1")
    needed, iterations = int(parts[0]), int(parts[-1])
    if needed < 0 or iterations < 0 or iterations > MAX_ITERATIONS:
        notes.error("ratio", path, f"Both numbers must be between 0 and {MAX_ITERATIONS}.", example)
        return Ratio(1, 1, "1/1")
    if len(parts) > 2:
        notes.warn("ratio", path, f"Only the first and the last number of {value} count.", example)
    if iterations == 0:
        notes.warn("ratio", path, "One iteration is made where 0 are asked for.")
    iterations = max(1, iterations)
    if needed > iterations:
        notes.warn("ratio", path, f"{needed} of {iterations} cannot succeed; {iterations} have to.")
    if needed == 0:
        notes.warn(
            "ratio",
            path,
            "With 0 needed this case cannot fail.",
            "neuro-san 0.7.15 wants one success anyway.",
        )
    return Ratio(min(needed, iterations), iterations, value.strip())


def seconds(value: Any, path: KeyPath, notes: Notes) -> float | None:
    """timeout_in_seconds: a number; HOCON's durations are understood, and noted."""
    if value is None:
        return None
    if isinstance(value, str) and (found := DURATION.fullmatch(value.strip())) and found[2] in SECONDS:
        number = float(found[1]) * SECONDS[found[2]]
        notes.warn("duration", path, "neuro-san cannot read a time with a unit.", f"Write {number:g}.")
    elif isinstance(value, bool) or not isinstance(value, int | float):
        notes.error("type", path, f"A number of seconds is needed, not {kind(value)}.")
        return None
    else:
        number = float(value)
    if not math.isfinite(number) or number > 1e9:
        notes.error("limit", path, "This is too long.")
        return None
    if number <= 0:
        notes.warn("timeout", path, "With no time at all every request times out.")
    return number


def boolean(value: Any, default: bool, path: KeyPath, notes: Notes) -> bool:
    if value is None:
        return default
    if not isinstance(value, bool):
        notes.error(
            "type", path, f"true or false is needed, not {value!r}.", "Without quotes; yes and on are text."
        )
        return default
    return value


def text(value: Any, path: KeyPath, notes: Notes) -> str | None:
    if value is None or isinstance(value, str):
        return value
    notes.error("type", path, f"Text is needed, not {kind(value)}.", "Put it in quotes.")
    return None


def dictionary(value: Any, path: KeyPath, notes: Notes) -> dict[str, Any] | None:
    if value is None or isinstance(value, dict):
        return value
    notes.error("type", path, f"An object {{…}} is needed, not {kind(value)}.")
    return None


def connections(value: Any, path: KeyPath, notes: Notes) -> tuple[str, ...]:
    if value is None:
        return ("direct",)
    given = value if isinstance(value, list) else [value]
    if not given:
        notes.warn(
            "no-connections", path, "Without a connection nothing is asked, and every iteration fails."
        )
    if len(given) > MAX_CONNECTIONS:
        notes.error("limit", path, f"A case may have at most {MAX_CONNECTIONS} connections.")
        return ()
    for number, name in enumerate(given):
        here = (*path, number) if isinstance(value, list) else path
        if not isinstance(name, str):
            notes.error("type", here, f"A connection is text, not {kind(name)}.", near("", CONNECTIONS))
        elif name in UNSUPPORTED:
            message = f"Connections by {name} are not supported: this case cannot be run here."
            notes.warn("connection-unsupported", here, message, "Use http.")
        elif name not in CONNECTIONS:
            notes.error("connection", here, f"There is no connection {name!r}.", near(name, CONNECTIONS))
        elif name == "direct":
            message = "Nothing is run in this process: direct talks to the chosen server over http."
            notes.info("connection-direct", here, message)
    return tuple(name for name in given if isinstance(name, str))


def metadata(value: Any, path: KeyPath, notes: Notes) -> dict[str, Any] | None:
    """Request headers."""
    given = dictionary(value, path, notes)
    for name, content in (given or {}).items():
        here = (*path, name)
        if not HEADER.fullmatch(name) or name.lower() in TAKEN:
            notes.error("metadata", here, f"{name!r} cannot be sent as the name of a header.")
        elif isinstance(content, dict | list):
            notes.error("metadata", here, f"A header holds text, not {kind(content)}.")
        elif isinstance(content, str):
            if any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in content):
                notes.error("metadata", here, "A header cannot hold line ends or control characters.")
            elif not content.isascii():
                notes.error("metadata", here, "A header can hold only ASCII.")
        elif content is not None:
            message = (
                "Headers are text: the number is sent as text here, and breaks the request in neuro-san."
            )
            notes.warn("metadata", here, message, "Put it in quotes.")
    return given


def chat_filter(value: Any, path: KeyPath, notes: Notes) -> str:
    given = text(value, path, notes)
    if given is None:
        return "MINIMAL"
    if given.upper() not in FILTERS:
        notes.warn("chat-filter", path, f"Servers take {given!r} for MINIMAL.", near(given, FILTERS))
    return given
