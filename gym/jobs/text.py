"""Sanitise untrusted text for storage, pages and terminals."""

from __future__ import annotations

import re
import traceback

MAX_ERROR = 1_000
MAX_ENTRY = 4_000
MAX_LOG = 20_000

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)", re.DOTALL)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(text: object, limit: int, *, keep: str = "start") -> str:
    """Remove terminal escapes, control characters and characters that change the text direction. Truncate to
    `limit`, keeping the start or the end."""
    result = str(text).encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n")
    result = _CONTROLS.sub("", _ESCAPES.sub("", result)).strip()
    if len(result) <= limit:
        return result
    return result[: limit - 1] + "…" if keep == "start" else "…" + result[1 - limit :]


def describe_error(error: BaseException) -> str:
    """Format an error for users: `Type: message`."""
    message = clean(error, MAX_ERROR)
    name = type(error).__name__
    return f"{name}: {message}" if message else name


def describe_traceback(error: BaseException) -> str:
    """Format the end of a traceback for the log."""
    lines = "".join(traceback.format_exception(error, limit=-30))
    return clean(lines, MAX_ENTRY, keep="end")
