"""Find the known name most similar to a misspelt one, for “Did you mean …?”."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from rapidfuzz import fuzz, process

MOST_CHARACTERS = 40
MOST_CANDIDATES = 200
"""Names come from files that people upload. One hint costs at most 0.1 ms within these bounds."""


def nearest_name(name: str, known: Iterable[str], *, alike: float = 0.6) -> str:
    """Return the known name most similar to `name`, or "" where none is similar enough.

    `alike`: 0 to 1, twice the length of the longest common subsequence over both lengths. Only the first
    MOST_CANDIDATES names are compared, by their first MOST_CHARACTERS.
    """
    candidates = list(islice(known, MOST_CANDIDATES))
    found = process.extractOne(
        name[:MOST_CHARACTERS],
        [candidate[:MOST_CHARACTERS] for candidate in candidates],
        scorer=fuzz.ratio,
        score_cutoff=100 * alike,
    )
    return candidates[found[2]] if found else ""
