"""What to compute and in which order: pure functions of their input, so that the same job makes the same chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

Span = tuple[int, int]


class UniqueTexts(NamedTuple):
    """`values` without repeats, in order of first appearance; `places[k]` says where text k went."""

    values: list[str]
    places: list[int]


def unique_texts(texts: Sequence[str]) -> UniqueTexts:
    """Drop repeated texts."""
    seen: dict[str, int] = {}
    places = [seen.setdefault(text, len(seen)) for text in texts]
    return UniqueTexts(list(seen), places)


def chunks(items: Sequence[str] | Sequence[int], budget: int) -> list[list[int]]:
    """Group items of similar length so that a group's size times its longest item stays within `budget`.

    `items` are texts (their length in characters counts) or lengths. Returns numbers into `items`: every
    number once, shortest items first, equal lengths in their own order. An item longer than the budget is
    alone. Callers that save their work between groups can use it with any budget. Raises ValueError below
    budget 1.
    """
    if budget < 1:
        raise ValueError(f"a budget of {budget} holds nothing")
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
