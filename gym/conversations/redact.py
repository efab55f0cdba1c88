"""What must not be kept: secrets in any text, and private data beyond what is tested. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from gym.conversations.cases import TestCase

HIDDEN = "•••"
"""Stands for a value that is not kept."""
HIDDEN_NUMBER = f"{HIDDEN} (a number)"
"""Stands for a secret that was told as a number."""
UNKEPT = re.compile("[\0\ud800-\udfff]")
"""Characters that databases refuse."""
SHORTEST = 4
"""Shorter values are not looked for: they would black out half of every text. So they are not taken as secrets."""
TOO_SHORT = f"A secret has at least {SHORTEST} characters: shorter ones cannot be looked for in answers."
CUT = "…"
"""Ends what was cut short, which may have been a secret."""
CREDENTIAL = re.compile(r"(?:bearer|basic|token|apikey|api-key|key)\s+(\S.*)", re.IGNORECASE)
MOST_CUTS = 50

Redactor = Callable[[Any], Any]


def header_words(value: str) -> tuple[str, ...]:
    """What must not be seen of a header: its value, and the credential in it ("Bearer …")."""
    found = CREDENTIAL.fullmatch(value)
    return (value, found[1]) if found else (value,)


def can_be_hidden(value: str) -> bool:
    return len(value.strip()) >= SHORTEST


def redactor(secrets: Iterable[str]) -> Redactor:
    """A function that gives any JSON value back without these texts, and without characters a database refuses."""
    known = {spelling for word in secrets for spelling in _spellings(word) if can_be_hidden(spelling)}
    words = sorted(known, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, words))) if words else None

    def text(value: str) -> str:
        value = UNKEPT.sub("\ufffd", value)
        return _without_beginnings(pattern.sub(HIDDEN, value), words) if pattern else value

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, dict):
            return {text(key): clean(below) for key, below in value.items()}
        if isinstance(value, list | tuple):
            return [clean(below) for below in value]
        if isinstance(value, int | float) and str(value) in known:
            return HIDDEN_NUMBER
        return value

    return clean


def _spellings(word: str) -> set[str]:
    """A secret as it is, and as JSON, Python and addresses write it."""
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    dumped = {json.dumps(word)[1:-1], json.dumps(word, ensure_ascii=False)[1:-1]}
    return {word, word.strip(), escaped, repr(word)[1:-1], quote(word, safe=""), quote(word), *dumped}


def _without_beginnings(text: str, words: list[str]) -> str:
    """Where a text was cut within a secret, its beginning was left there."""
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
    """Private data as it may be stored: all keys, but only the values that a check of this interaction looks at."""
    paths = [check.path for check in case.interactions[interaction].checks if check.part == "sly_data"]
    return _keep(sly_data, paths)


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
    """Is a part of this stored value not kept?"""
    if isinstance(value, dict):
        return any(map(hides, value.values()))
    return any(map(hides, value)) if isinstance(value, list) else bool(value in (HIDDEN, HIDDEN_NUMBER))


def mentions(marker: str, value: Any) -> bool:
    """Does this stored value hold the marker, at any depth and as part of a text as well?"""
    return marker in json.dumps(value, ensure_ascii=False)
