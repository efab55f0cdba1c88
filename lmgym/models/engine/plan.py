"""Deterministic planning of texts, chunks and tokens to score, so that a repeated job has the same chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

Span = tuple[int, int]


class UniqueTexts(NamedTuple):
    """Distinct texts in order of first appearance; text k is values[places[k]]."""

    values: list[str]
    places: list[int]


def unique_texts(texts: Sequence[str]) -> UniqueTexts:
    """Drop repeated texts."""
    seen: dict[str, int] = {}
    places = [seen.setdefault(text, len(seen)) for text in texts]
    return UniqueTexts(list(seen), places)


def chunks(items: Sequence[str] | Sequence[int], budget: int) -> list[list[int]]:
    """Group items of similar length so that the size of a group times its longest item is at most `budget`.

    Args:
        items: texts, measured in characters, or lengths.
        budget: limit of a group; a longer item forms a group by itself.

    Returns:
        Indices of `items`, each once: shortest first; items of equal length keep their order.

    Raises:
        ValueError: the budget is below 1.
    """
    if budget < 1:
        raise ValueError(f"the budget must be at least 1, not {budget}")
    lengths = [len(item) if isinstance(item, str) else item for item in items]
    groups: list[list[int]] = []
    for number in sorted(range(len(lengths)), key=lambda number: (lengths[number], number)):
        # Ascending order makes the newest item the longest of its group.
        if groups and (len(groups[-1]) + 1) * lengths[number] <= budget:
            groups[-1].append(number)
        else:
            groups.append([number])
    return groups


def needed_tokens(offsets: Sequence[Span], spans: Sequence[Span]) -> list[bool]:
    """Flag the tokens to score for character ranges [start, end).

    A token is needed if it shares a character with a range. A token without characters (an end token, a single byte) is
    needed if it lies in a range or equals an empty range (p, p).
    """
    return [any(_meets(start, end, a, b) for a, b in spans) for start, end in offsets]


def boundary_tokens(needed: Sequence[bool]) -> list[bool]:
    """Flag the tokens whose boundary the whitespace correction needs: needed tokens and their predecessors."""
    return [flag or following for flag, following in zip(needed, [*needed[1:], False], strict=True)]


def _meets(start: int, end: int, a: int, b: int) -> bool:
    if start < end:
        return start < b and a < end
    return a <= start < b or a == b == start
