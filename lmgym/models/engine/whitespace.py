"""The whitespace-trailing correction: move the surprisal of the end of a word to that word.

If tokens include their leading space (" keys"), the surprisal of the end of a word is part of the first token of the
next word. Oh & Schuler (2024, arXiv 2406.10851) and Pimentel & Meister (2024, arXiv 2406.14561) move it to the word
itself. With B = -log2 P(whitespace or the end follows | text up to and including a token), in bits:

    corrected = raw - B(preceding token, if a word ends there) + B(token, if a word ends with it)

In a region of whole words all inner terms cancel. No whitespace precedes the first word, so after a start token B is
-log2 P(no whitespace follows). Where text continues without whitespace, no word has ended and nothing is moved. Unlike
raw ones, corrected word probabilities add up to at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lmgym.models.engine.scores import TokenScores
from lmgym.text import BLANKS

BLANK_MARKS = ("Ġ", "Ċ", "ĉ", "č", "▁", " ", "\n", "\t", "\r", "\u00a0", "\u3000")
"""Leading blanks in spellings of tokens: byte-level (Ġ Ċ ĉ č), SentencePiece (▁), plain."""
BLANK_BYTES = frozenset(("<0x09>", "<0x0A>", "<0x0D>", "<0x20>"))
"""Blanks that SentencePiece spells as bytes, such as Llama 2's newline."""


def blank_sets(
    tokens: Sequence[str | None], *, ends: Sequence[int], special: Sequence[int], continuing: str = ""
) -> list[tuple[float, float]]:
    """Classify vocabulary entries as (begins with whitespace or ends the text, begins without whitespace).

    Args:
        tokens: spellings, None for rows without a token.
        ends: ids of end tokens.
        special: ids of special tokens; ids that are not in `ends` belong to neither set.
        continuing: prefix of tokens inside a word, such as WordPiece's "##"; all other tokens begin a word. "" = words
            begin at whitespace.
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


def word_ends(text: str, offsets: Sequence[tuple[int, int]], special: Sequence[bool]) -> list[bool]:
    """Flag the tokens whose B is moved: a word ends, or the first word begins, after them."""
    flags: list[bool] = []
    for at, (start, end) in enumerate(offsets):
        if special[at]:
            flags.append(at == 0 and bool(text.strip(BLANKS)))
            continue
        reach = next(
            (position for position in range(end, start, -1) if text[position - 1] not in BLANKS), None
        )
        follows = offsets[at + 1][0] if at + 1 < len(offsets) else len(text)
        # A token of blanks does not end a word, nor does the first of several tokens that share a character.
        flags.append(reach is not None and follows >= reach and text[reach : reach + 1] in BLANKS)
    return flags


def corrected(
    bits: NDArray[np.float64],
    boundary: NDArray[np.float64],
    ends: NDArray[np.bool_],
    starts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Correct the bits of concatenated texts.

    Args:
        bits: raw surprisals; NaN = no value.
        boundary: B after each token.
        ends: see `word_ends`.
        starts: start of each text.
    """
    moved = np.where(ends, boundary, 0.0)
    before = np.concatenate(([0.0], moved))[:-1]
    before[starts[starts < len(before)]] = 0.0
    return bits - before + moved


def corrected_scores(text: str, scores: TokenScores) -> TokenScores:
    """Return the corrected scores of one text."""
    columns = (scores.bits, scores.boundary_bits or [None] * len(scores))
    bits, boundary = (np.array(column, dtype=np.float64) for column in columns)
    ends = np.array(word_ends(text, scores.offsets, scores.special), dtype=np.bool_)
    values = corrected(bits, boundary, ends, np.zeros(1, np.int64)).tolist()
    return replace(
        scores, bits=[None if math.isnan(value) else value for value in values], boundary_bits=None
    )
