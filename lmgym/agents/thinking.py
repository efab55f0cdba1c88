"""What a model thinks aloud before it answers, between <think> and </think>. Pure."""

from __future__ import annotations

OPEN, CLOSE = "<think>", "</think>"


def without_thinking(text: str) -> str:
    """The answer alone, without the blank space around what was left out. Thoughts that are not closed go to the end of
    the text; those that only end began before it, since some servers put the opening tag into the prompt."""
    if OPEN not in text and CLOSE not in text:
        return text
    close = text.find(CLOSE)
    if close >= 0 and OPEN not in text[:close]:
        text = text[close + len(CLOSE) :]
    kept = []
    at = 0
    while (start := text.find(OPEN, at)) >= 0:
        kept.append(text[at:start])
        end = text.find(CLOSE, start)
        at = end + len(CLOSE) if end >= 0 else len(text)
    return "".join([*kept, text[at:]]).strip()
