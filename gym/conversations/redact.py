"""What must not be kept: secrets in any text, and private data beyond what is tested. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from gym.conversations.cases import TestCase

HIDDEN = "•••"
"""Stands for a value that is not kept."""
UNKEPT = re.compile("[\0\ud800-\udfff]")
"""Characters that databases refuse."""
SHORTEST = 4
"""Shorter values are not looked for: they would black out half of every text."""

Redactor = Callable[[Any], Any]


def redactor(secrets: Iterable[str]) -> Redactor:
    """A function that gives any JSON value back without these texts, and without characters a database refuses."""
    words = sorted({word for word in secrets if len(word) >= SHORTEST}, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, words))) if words else None

    def text(value: str) -> str:
        value = UNKEPT.sub("\ufffd", value)
        return pattern.sub(HIDDEN, value) if pattern else value

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, dict):
            return {text(key): clean(below) for key, below in value.items()}
        if isinstance(value, list | tuple):
            return [clean(below) for below in value]
        return value

    return clean


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
    return any(map(hides, value)) if isinstance(value, list) else bool(value == HIDDEN)
