"""Which sentences are scored together. Pure.

A chunk is what a worker scores between two looks at whether to go on; a killed worker loses at most one. Sentences that
begin alike share work, so they stand together, and a chunk ends where neighbours share least.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

CHARACTERS_PER_TOKEN = 4
WORK_PER_CHUNK = 3e11
"""Parameters x tokens of a chunk: about two seconds of an fp32 CPU core pair."""
FASTER_ON_GPU = 32
LEAST_TOKENS, MOST_TOKENS = 128, 32_768
LOOK_BACK = 0.25
"""A chunk may end this much of its budget early, to end where neighbours share least."""


def chunk_characters(parameters: int | None, device: str = "cpu") -> int:
    """How many characters make a chunk for a model of this size; a function of its input alone."""
    tokens = WORK_PER_CHUNK / max(parameters or 1, 1) * (FASTER_ON_GPU if device.startswith("cuda") else 1)
    return int(min(max(tokens, LEAST_TOKENS), MOST_TOKENS)) * CHARACTERS_PER_TOKEN


def plan_chunks(texts: Sequence[str], characters: int, sentences: int = 0) -> list[list[int]]:
    """Positions of the distinct texts in chunks of about `characters`, at most `sentences` (0 = no limit) each.

    In alphabetical order, so that what begins alike is scored together. A function of its input alone: the same texts
    give the same chunks, and so the same numbers. A text longer than the budget is alone.
    """
    first: dict[str, int] = {}
    for position, text in enumerate(texts):
        first.setdefault(text, position)
    order = sorted(first.values(), key=lambda position: texts[position])
    shared = [0, *(_common(texts[a], texts[b]) for a, b in pairwise(order))]
    ends = list(accumulate(len(texts[position]) + 1 for position in order))
    chunks: list[list[int]] = []
    start = 0
    while start < len(order):
        stop = _stop(start, ends, shared, characters, sentences)
        chunks.append(order[start:stop])
        start = stop
    return chunks


def _common(a: str, b: str) -> int:
    """How many characters two texts share at their beginning."""
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _stop(start: int, ends: Sequence[int], shared: Sequence[int], characters: int, sentences: int) -> int:
    """Where the chunk that begins at `start` ends: at its budget, or a little earlier, where a new beginning starts."""
    before = ends[start - 1] if start else 0
    last = start + 1
    most = start + sentences if sentences else len(ends)
    while last < min(len(ends), most) and ends[last] - before <= characters:
        last += 1
    if last == len(ends):
        return last
    early = start + 1 + int((last - start - 1) * (1 - LOOK_BACK))
    return min(range(last, early - 1, -1), key=lambda at: (shared[at], -at))
