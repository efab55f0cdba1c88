"""From needed characters to needed tokens. Pure."""

from __future__ import annotations

from collections.abc import Sequence

Span = tuple[int, int]


def needed_tokens(offsets: Sequence[Span], spans: Sequence[Span]) -> list[bool]:
    """Which tokens have to be scored for these character ranges [start, end).

    A token that shares a character with a range counts. A token without characters (an end token, a stray
    byte) counts where its place lies in a range, or where an empty range (p, p) names it.
    """
    return [any(_meets(start, end, a, b) for a, b in spans) for start, end in offsets]


def edge_tokens(offsets: Sequence[Span], special: Sequence[bool], spans: Sequence[Span]) -> list[bool]:
    """The tokens right before each range begins and the last token of each range: those after which the
    whitespace terms of the range are read."""
    flags = [False] * len(offsets)
    for a, b in spans:
        inside = [
            at
            for at, (start, end) in enumerate(offsets)
            if not special[at] and start < end and _meets(start, end, a, b)
        ]
        if inside:
            flags[inside[-1]] = True
            if inside[0] > 0:
                flags[inside[0] - 1] = True
    return flags


def _meets(start: int, end: int, a: int, b: int) -> bool:
    if start < end:
        return start < b and a < end
    return a <= start < b or a == b == start
