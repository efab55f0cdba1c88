"""The whitespace-trailing correction, as two extra terms beside a region's raw bits.

Where tokens carry their leading blank (" keys"), the decision that a word is over is paid by the first token
of the next word. Oh & Schuler (2024, arXiv 2406.10851) and Pimentel & Meister (2024, arXiv 2406.14561) move
it to the word itself. For a region of whole words all inner terms cancel:

    corrected = raw - before + after        (bits)

before = -log2 P(a blank or the end comes next | everything before the region), after = the same at the
region's end. At the start of a sentence no blank stands before the first word, so there `before` is
-log2 P(no blank comes next). Where text goes on without a blank no word has ended, and the term is 0.
Unlike the sum over tokens, corrected word probabilities add up to at most 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gym.lib.text import BLANKS
from models_registry.engine.scores import TokenScores

BLANK_MARKS = ("Ġ", "Ċ", "ĉ", "č", "▁", " ", "\n", "\t", "\r", "\u00a0", "\u3000")
"""How blanks begin a token's spelling: byte-level (Ġ Ċ ĉ č), SentencePiece (▁), plain."""
BLANK_BYTES = frozenset(("<0x09>", "<0x0A>", "<0x0D>", "<0x20>"))
"""Blanks that SentencePiece spells as bytes, such as the newline of Llama 2."""


class Terms(NamedTuple):
    """The two terms of one region, in bits; None = not computed. corrected = raw - before + after."""

    before: float | None
    after: float | None


def blank_sets(
    tokens: Sequence[str | None], *, ends: Sequence[int], special: Sequence[int], continuing: str = ""
) -> list[tuple[float, float]]:
    """For each vocabulary entry: whether it (begins with a blank or ends the text, begins without a blank).

    `tokens` are the vocabulary's spellings, None for rows without a token. `ends` are end tokens; other
    `special` ids are in neither set. With `continuing` ("##" of WordPiece, whose tokens show no blanks)
    every token that does not continue a word counts as beginning one.
    """
    ending, odd = set(ends), set(special)
    sets: list[tuple[float, float]] = []
    for number, token in enumerate(tokens):
        if number in ending:
            sets.append((1.0, 0.0))
        elif token is None or number in odd:
            sets.append((0.0, 0.0))
        elif continuing:
            fresh = not token.startswith(continuing)
            sets.append((float(fresh), float(fresh)))
        else:
            blank = token.startswith(BLANK_MARKS) or token in BLANK_BYTES
            sets.append((float(blank), float(not blank)))
    return sets


def region_terms(text: str, spans: Sequence[tuple[int, int]], scores: TokenScores) -> list[Terms]:
    """The terms of each region, whose span is its joining blank and its text (as suites.regions.join gives).

    An empty region has (0, 0), so that its corrected value is its raw one.
    """
    bits = scores.boundary_bits
    if bits is None:
        return [Terms(None, None)] * len(spans)
    found: list[Terms] = []
    for start, end in spans:
        inside = [
            at
            for at, (a, b) in enumerate(scores.offsets)
            if a < b and not scores.special[at] and _owned(text, a, b, start, end)
        ]
        if not inside:
            found.append(Terms(0.0, 0.0))
            continue
        first, last = inside[0], inside[-1]
        at_start = not text[:start].strip()
        opens = at_start or text[start].isspace()
        closes = end >= len(text) or text[end].isspace()
        before = (bits[first - 1] if first else None) if opens else 0.0
        found.append(Terms(before, bits[last] if closes else 0.0))
    return found


def _owned(text: str, a: int, b: int, start: int, end: int) -> bool:
    """Whether the token's first non-blank character (its first, if it has none) lies in the region."""
    visible = next((at for at in range(a, b) if text[at] not in BLANKS), a)
    return start <= visible < end
