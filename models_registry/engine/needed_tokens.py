"""Which tokens have to be scored for the character ranges that predictions need. Pure."""

from __future__ import annotations

from collections.abc import Sequence

Span = tuple[int, int]


def needed_tokens(offsets: Sequence[Span], spans: Sequence[Span]) -> list[bool]:
    """Which tokens have to be scored for these character ranges [start, end).

    A token that shares a character with a range counts. A token without characters (an end token, a stray
    byte) counts where its place lies in a range, or where an empty range (p, p) names it.
    """
    return [any(_meets(start, end, a, b) for a, b in spans) for start, end in offsets]


def boundary_tokens(needed: Sequence[bool]) -> list[bool]:
    """The tokens after which the whitespace correction of needed tokens looks: they, and the ones before them."""
    return [own or following for own, following in zip(needed, [*needed[1:], False], strict=True)]


def _meets(start: int, end: int, a: int, b: int) -> bool:
    if start < end:
        return start < b and a < end
    return a <= start < b or a == b == start
