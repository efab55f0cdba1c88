"""Windows of a text that is longer than a model's context. Does not need torch."""

from __future__ import annotations

from typing import NamedTuple


class Window(NamedTuple):
    """Tokens [begin, end) of a text that are read in one pass.

    Tokens before `fresh` were scored in an earlier window and serve only as context.
    """

    begin: int
    fresh: int
    end: int


def windows(length: int, size: int, overlap: int) -> list[Window]:
    """Cut a text into windows of `size` tokens. Neighbours share `overlap` tokens; the last may be shorter.

    Every token is fresh in exactly one window: the first that contains it.

    Raises:
        ValueError: the overlap is not smaller than the size.
    """
    if overlap >= size:
        raise ValueError(f"an overlap of {overlap} tokens is not smaller than a window of {size}")
    cut = [Window(0, 0, min(length, size))]
    while cut[-1].end < length:
        end = cut[-1].end
        cut.append(Window(end - overlap, end, min(length, end - overlap + size)))
    return cut
