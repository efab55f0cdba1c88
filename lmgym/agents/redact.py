"""What a transcript holds of an answer: without secrets and untested private data, and not too long. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote

from lmgym.agents.cases import TestCase

HIDDEN = "•••"
"""Stands for a value that is not stored."""
HIDDEN_NUMBER = f"{HIDDEN} (a number)"
"""Stands for a secret sent as a number."""
UNKEPT = re.compile("[\0\ud800-\udfff]")
"""Characters that databases refuse."""
SHORTEST = 4
"""Shorter values are refused as secrets: hiding them would hide half of every text."""
TOO_SHORT = f"A secret has at least {SHORTEST} characters: shorter ones cannot be looked for in answers."
CUT = "…"
"""Ends a truncated text, which may end in part of a secret."""
FIRST_MARK, MARKS = 0xE000, 6_400
"""Private-use characters. One behind HIDDEN says which text is hidden, as long as answers are compared."""
MARKED = re.compile(f"{HIDDEN}[{chr(FIRST_MARK)}-{chr(FIRST_MARK + MARKS - 1)}]")
CREDENTIAL = re.compile(r"(?:bearer|basic|token|apikey|api-key|key)\s+(\S.*)", re.IGNORECASE)
MOST_CUTS = 50

Redactor = Callable[[Any], Any]


def header_words(value: str) -> tuple[str, ...]:
    """The secrets in a header: its value, and the credential in it ("Bearer …")."""
    found = CREDENTIAL.fullmatch(value)
    return (value, found[1]) if found else (value,)


def can_be_hidden(value: str) -> bool:
    return len(value.strip()) >= SHORTEST


def redactor(secrets: Iterable[str], *, marked: bool = False) -> Redactor:
    """Return a function that removes these texts, and characters that a database refuses, from any JSON value. With
    `marked`, different texts leave different marks, for comparing. Marks that a value already has are removed: an agent
    that writes one has not said the secret."""
    known = {spelling for word in secrets for spelling in _spellings(word) if can_be_hidden(spelling)}
    words = sorted(known, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, words))) if words else None
    marks = {word: chr(FIRST_MARK + number % MARKS) if marked else "" for number, word in enumerate(words)}

    def text(value: str) -> str:
        value = UNKEPT.sub("\ufffd", value)
        if pattern is None:
            return value
        value = pattern.sub(lambda found: HIDDEN + marks[found[0]], unmarked(value))
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
    """A text of `redactor(…, marked=True)` as it may be shown."""
    return MARKED.sub(HIDDEN, text)


def _spellings(word: str) -> set[str]:
    """A secret as such, and as JSON, Python and URLs write it."""
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    dumped = {json.dumps(word)[1:-1], json.dumps(word, ensure_ascii=False)[1:-1]}
    return {word, word.strip(), escaped, repr(word)[1:-1], quote(word, safe=""), quote(word), *dumped}


def _without_beginnings(text: str, words: list[str]) -> str:
    """Hide the beginning of a secret that was truncated."""
    if CUT not in text:
        return text
    *before, last = text.rsplit(CUT, MOST_CUTS)
    return CUT.join([*(_ended(part, words) for part in before), last])


def _ended(part: str, words: list[str]) -> str:
    for word in words:
        for length in range(min(len(word) - 1, len(part)), SHORTEST - 1, -1):
            if part.endswith(word[:length]):
                return part[:-length] + HIDDEN
    return part


def tested_only(sly_data: Any, case: TestCase, interaction: int) -> Any:
    """Private data as stored: all keys, but only the values that a check of this interaction looks at."""
    paths = [check.path for check in case.interactions[interaction].checks if check.part == "sly_data"]
    return _keep(sly_data, paths)


def given_only(sly_data: Any, case: TestCase) -> Any:
    """Private data that were sent, as stored: the values that the case names. Those that a server gave in earlier turns
    are hidden."""
    if not isinstance(sly_data, dict):
        return None
    named = [turn.sly_data for turn in case.interactions if turn.sly_data]
    return {
        key: value if any(key in one and one[key] == value for one in named) else HIDDEN
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
    """Is a part of this stored value hidden?"""
    if isinstance(value, dict):
        return any(map(hides, value.values()))
    return any(map(hides, value)) if isinstance(value, list) else bool(value in (HIDDEN, HIDDEN_NUMBER))


def mentions(marker: str, value: Any) -> bool:
    """Is the marker anywhere in this stored value, also within a text?"""
    return marker in json.dumps(value, ensure_ascii=False)


# --- truncation; truncated texts say so ---

MAX_TEXT = 20_000
"""Characters of a text, or of a value as JSON."""
MAX_ALL = 500_000
"""Characters of all messages of one answer, as JSON."""


def cut(text: str, limit: int = MAX_TEXT) -> str:
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit:,} more characters are not kept)"


def bounded(value: Any) -> Any:
    """A JSON value; one that is too long becomes the beginning of its JSON text."""
    if isinstance(value, str):
        return cut(value)
    if not isinstance(value, dict | list | tuple):
        return value
    written = json.dumps(value, ensure_ascii=False)
    return value if len(written) <= MAX_TEXT else cut(written)


def messages_kept(messages: Sequence[dict[str, Any]], left_out: int = 0) -> tuple[dict[str, Any], ...]:
    """The first messages, up to MAX_ALL. `left_out`: how many are missing already."""
    kept: list[dict[str, Any]] = []
    room = MAX_ALL
    for message in messages:
        shown = {key: bounded(value) for key, value in message.items()}
        room -= len(json.dumps(shown, ensure_ascii=False))
        if room < 0:
            break
        kept.append(shown)
    left_out += len(messages) - len(kept)
    if left_out:
        what = "message of this answer is" if left_out == 1 else "messages of this answer are"
        kept.append({"type": "NOTE", "origin": [], "text": f"{left_out:,} more {what} not kept."})
    return tuple(kept)
