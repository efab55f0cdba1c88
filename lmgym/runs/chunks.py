"""Plan which sentences are scored together. Pure.

A worker checks for cancellation between chunks; a killed worker loses at most one. Sentences with a common beginning
share work, so they are sorted, and chunks end where neighbouring sentences have the least in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from lmgym.text import common_prefix

CHARACTERS_PER_TOKEN = 4
WORK_PER_CHUNK = 3e11
"""Parameters × tokens per chunk: about two seconds on a pair of CPU cores in fp32."""
FASTER_ON_GPU = 32
LEAST_TOKENS, MOST_TOKENS = 128, 32_768
LOOK_BACK = 0.25
"""Fraction of a full chunk's sentences that may be left for the next chunk, so that it ends where neighbours have the
least in common."""


def chunk_characters(parameters: int | None, device: str = "cpu") -> int:
    """Return the number of characters per chunk for a model with this many parameters. Deterministic."""
    tokens = WORK_PER_CHUNK / max(parameters or 1, 1) * (FASTER_ON_GPU if device.startswith("cuda") else 1)
    return int(min(max(tokens, LEAST_TOKENS), MOST_TOKENS)) * CHARACTERS_PER_TOKEN


def plan_chunks(texts: Sequence[str], characters: int, sentences: int = 0) -> list[list[int]]:
    """Group the distinct texts into chunks of about `characters`, at most `sentences` each (0 = no limit).

    Texts are sorted so that common prefixes are scored together. Deterministic: the same texts
    give the same chunks and therefore the same numbers. A text longer than the budget gets its own chunk.

    Returns:
        Positions in `texts`, by chunk.
    """
    first: dict[str, int] = {}
    for position, text in enumerate(texts):
        first.setdefault(text, position)
    order = sorted(first.values(), key=lambda position: texts[position])
    shared = [0, *(common_prefix(texts[a], texts[b]) for a, b in pairwise(order))]
    ends = list(accumulate(len(texts[position]) + 1 for position in order))
    chunks: list[list[int]] = []
    start = 0
    while start < len(order):
        stop = _stop(start, ends, shared, characters, sentences)
        chunks.append(order[start:stop])
        start = stop
    return chunks


def _stop(start: int, ends: Sequence[int], shared: Sequence[int], characters: int, sentences: int) -> int:
    """Return the end of the chunk that begins at `start`: at its budget, or slightly earlier where less is shared."""
    before = ends[start - 1] if start else 0
    last = start + 1
    most = start + sentences if sentences else len(ends)
    while last < min(len(ends), most) and ends[last] - before <= characters:
        last += 1
    if last == len(ends):
        return last
    early = start + 1 + int((last - start - 1) * (1 - LOOK_BACK))
    return min(range(last, early - 1, -1), key=lambda at: (shared[at], -at))
