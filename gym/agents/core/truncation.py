"""How much of an answer a transcript holds. Truncated texts say so. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

MAX_TEXT = 20_000
"""Characters of a text, or of a value as JSON."""
MAX_ALL = 500_000
"""Characters of all messages of one answer, as JSON."""


def cut(text: str, limit: int = MAX_TEXT) -> str:
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit:,} more characters are not kept)"


def bounded(value: Any, limit: int = MAX_TEXT) -> Any:
    """A JSON value; one that is too long becomes the beginning of its JSON text."""
    if isinstance(value, str):
        return cut(value, limit)
    if not isinstance(value, dict | list | tuple):
        return value
    written = json.dumps(value, ensure_ascii=False)
    return value if len(written) <= limit else cut(written, limit)


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
