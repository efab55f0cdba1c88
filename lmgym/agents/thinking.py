"""Remove a model's thoughts, the text between <think> and </think>."""

from __future__ import annotations

OPEN, CLOSE = "<think>", "</think>"


def without_thinking(text: str) -> str:
    """Return the answer without thoughts, stripped; an answer without thoughts is unchanged.

    Thoughts without a closing tag extend to the end of the text. Thoughts without an opening tag extend back to its
    beginning, because some servers put the opening tag into the prompt.
    """
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
