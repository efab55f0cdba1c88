"""Find the known name most similar to a misspelt one, for “Did you mean …?”."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from rapidfuzz import fuzz, process

MOST_CHARACTERS = 40
MOST_CANDIDATES = 200
"""Limits on compared names, which come from uploaded files: one hint takes at most 0.1 ms."""


def nearest_name(name: str, known: Iterable[str], *, alike: float = 0.6) -> str:
    """Return the known name most similar to `name`, or "" if none is similar enough.

    `alike`: minimum similarity from 0 to 1, twice the length of the longest common subsequence over both lengths. Only
    the first MOST_CANDIDATES names are compared, by their first MOST_CHARACTERS.
    """
    candidates = list(islice(known, MOST_CANDIDATES))
    match = process.extractOne(
        name[:MOST_CHARACTERS],
        [candidate[:MOST_CHARACTERS] for candidate in candidates],
        scorer=fuzz.ratio,
        score_cutoff=100 * alike,
    )
    return candidates[match[2]] if match else ""
