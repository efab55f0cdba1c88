"""Redaction of transcripts: hide secrets and private data that no check compares, and truncate long texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote

from lmgym.agents.cases import TestCase

HIDDEN = "•••"
"""Replacement for a value that is not stored."""
HIDDEN_NUMBER = f"{HIDDEN} (a number)"
"""Replacement for a secret sent as a number."""
UNKEPT = re.compile("[\0\ud800-\udfff]")
"""Characters that databases reject."""
SHORTEST = 4
"""Minimum length of a secret. Hiding shorter secrets would hide large parts of every text."""
TOO_SHORT = (
    f"A secret must have at least {SHORTEST} characters, because shorter secrets cannot be hidden in answers."
)
CUT = "…"
"""Mark at the end of a truncated text, where part of a secret may remain."""
FIRST_MARK, MARKS = 0xE000, 6_400
"""First private-use character that serves as a mark, and the number of marks. During comparison, the mark
after HIDDEN identifies the hidden text."""
MARKED = re.compile(f"{HIDDEN}[{chr(FIRST_MARK)}-{chr(FIRST_MARK + MARKS - 1)}]")
CREDENTIAL = re.compile(r"(?:bearer|basic|token|apikey|api-key|key)\s+(\S.*)", re.IGNORECASE)
MOST_CUTS = 50

Redactor = Callable[[Any], Any]


def header_words(value: str) -> tuple[str, ...]:
    """Return the secrets in a header: its value, and the credential in its value ("Bearer …")."""
    credential = CREDENTIAL.fullmatch(value)
    return (value, credential[1]) if credential else (value,)


def can_be_hidden(value: str) -> bool:
    return len(value.strip()) >= SHORTEST


def redactor(secrets: Iterable[str], *, marked: bool = False) -> Redactor:
    """Return a function that hides secrets of at least SHORTEST characters in any JSON value, and replaces characters
    that databases reject.

    With `marked`, each secret is replaced by a different mark, so that values can be compared. Marks already in a value
    are removed first, because an agent that writes a mark has not repeated the secret.
    """
    known = {spelling for secret in secrets for spelling in _spellings(secret) if can_be_hidden(spelling)}
    words = sorted(known, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, words))) if words else None
    marks = {
        secret: chr(FIRST_MARK + number % MARKS) if marked else "" for number, secret in enumerate(words)
    }

    def text(value: str) -> str:
        value = UNKEPT.sub("\ufffd", value)
        if pattern is None:
            return value
        value = pattern.sub(lambda match: HIDDEN + marks[match[0]], unmarked(value))
        return _without_beginnings(value, words)

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, dict):
            return {text(key): clean(below) for key, below in value.items()}
        if isinstance(value, list | tuple):
            return [clean(below) for below in value]
        if isinstance(value, int | float) and str(value) in known:
            return HIDDEN_NUMBER.replace(HIDDEN, HIDDEN + marks[str(value)])
        return value

    return clean


def unmarked(text: str) -> str:
    """Remove the marks of `redactor(…, marked=True)`, for display."""
    return MARKED.sub(HIDDEN, text)


def _spellings(secret: str) -> set[str]:
    """Return a secret unchanged and as written in JSON, Python and URLs."""
    escaped = secret.replace("\\", "\\\\").replace("'", "\\'")
    dumped = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    return {
        secret,
        secret.strip(),
        escaped,
        repr(secret)[1:-1],
        quote(secret, safe=""),
        quote(secret),
        *dumped,
    }


def _without_beginnings(text: str, words: list[str]) -> str:
    """Hide the beginning of a secret that was cut off at a truncation mark."""
    if CUT not in text:
        return text
    *before, last = text.rsplit(CUT, MOST_CUTS)
    return CUT.join([*(_ended(part, words) for part in before), last])


def _ended(part: str, words: list[str]) -> str:
    for secret in words:
        for length in range(min(len(secret) - 1, len(part)), SHORTEST - 1, -1):
            if part.endswith(secret[:length]):
                return part[:-length] + HIDDEN
    return part


def tested_only(sly_data: Any, case: TestCase, interaction: int) -> Any:
    """Return private data for storage: only the values that this interaction's checks compare. Every other value is
    hidden, together with the keys inside it."""
    paths = [check.path for check in case.interactions[interaction].checks if check.part == "sly_data"]
    return _keep(sly_data, paths)


def named_only(sly_data: Any, case: TestCase) -> Any:
    """Return sent private data for storage: only values named in the case. Values from earlier answers are hidden."""
    if not isinstance(sly_data, dict):
        return None
    named = [turn.sly_data for turn in case.interactions if turn.sly_data]
    return {
        key: value if any(key in data and data[key] == value for data in named) else HIDDEN
        for key, value in sly_data.items()
    }


def _keep(value: Any, paths: list[tuple[str, ...]]) -> Any:
    if value is None:
        return None
    if () in paths:
        return value
    if not isinstance(value, dict):
        return HIDDEN
    kept = {}
    for key, below in value.items():
        further = [path[1:] for path in paths if path and path[0] == key]
        kept[key] = _keep(below, further) if further else HIDDEN
    return kept


def hides(value: Any) -> bool:
    """Return True if any part of a stored value is hidden."""
    if isinstance(value, dict):
        return any(map(hides, value.values()))
    return any(map(hides, value)) if isinstance(value, list) else bool(value in (HIDDEN, HIDDEN_NUMBER))


def mentions(marker: str, value: Any) -> bool:
    """Return True if the marker occurs anywhere in a stored value, including inside a text."""
    return marker in json.dumps(value, ensure_ascii=False)


# --- truncation with a note in the text ---

MAX_TEXT = 20_000
"""Maximum length in characters of a text, or of a value as JSON."""
MAX_ALL = 500_000
"""Maximum total length as JSON of an answer's messages, in characters."""


def cut(text: str, limit: int = MAX_TEXT) -> str:
    if len(text) <= limit:
        return text
    n_more = len(text) - limit
    noun = "character was" if n_more == 1 else "characters were"
    return f"{text[:limit]}… ({n_more:,} more {noun} not stored)"


def bounded(value: Any) -> Any:
    """Return a JSON value, or the beginning of its JSON text if it is too long."""
    if isinstance(value, str):
        return cut(value)
    if not isinstance(value, dict | list | tuple):
        return value
    written = json.dumps(value, ensure_ascii=False)
    return value if len(written) <= MAX_TEXT else cut(written)


def messages_kept(messages: Sequence[dict[str, Any]], left_out: int = 0) -> tuple[dict[str, Any], ...]:
    """Return the first messages, up to MAX_ALL characters, and a note with the number omitted, including `left_out`."""
    kept: list[dict[str, Any]] = []
    space = MAX_ALL
    for message in messages:
        shown = {key: bounded(value) for key, value in message.items()}
        space -= len(json.dumps(shown, ensure_ascii=False))
        if space < 0:
            break
        kept.append(shown)
    left_out += len(messages) - len(kept)
    if left_out:
        noun = "message of this answer was" if left_out == 1 else "messages of this answer were"
        kept.append({"type": "NOTE", "origin": [], "text": f"{left_out:,} more {noun} not stored."})
    return tuple(kept)
