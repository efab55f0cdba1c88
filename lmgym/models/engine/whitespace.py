"""The whitespace-trailing correction: who pays for the end of a word.

Where tokens carry their leading blank (" keys"), the decision that a word is over is paid by the first token
of the next word. Oh & Schuler (2024, arXiv 2406.10851) and Pimentel & Meister (2024, arXiv 2406.14561) move
it to the word itself. With B = -log2 P(a blank or the end comes next | everything up to a token), in bits:

    corrected = raw - B(the token before, if a word ends there) + B(the token, if a word ends with it)

In a region of whole words all inner terms cancel. Before the first word stands no blank, so after a start token
B is -log2 P(no blank comes next). Where text goes on without a blank no word has ended, and nothing moves.
Unlike raw ones, corrected word probabilities add up to at most 1.
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
"""How blanks begin a token's spelling: byte-level (Ġ Ċ ĉ č), SentencePiece (▁), plain."""
BLANK_BYTES = frozenset(("<0x09>", "<0x0A>", "<0x0D>", "<0x20>"))
"""Blanks that SentencePiece spells as bytes, such as the newline of Llama 2."""


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


def word_ends(text: str, offsets: Sequence[tuple[int, int]], special: Sequence[bool]) -> list[bool]:
    """The tokens after which a word ends or the first word begins: those whose B moves."""
    flags: list[bool] = []
    for at, (start, end) in enumerate(offsets):
        if special[at]:
            flags.append(at == 0 and bool(text.strip(BLANKS)))
            continue
        reach = next((place for place in range(end, start, -1) if text[place - 1] not in BLANKS), None)
        follows = offsets[at + 1][0] if at + 1 < len(offsets) else len(text)
        # A token of blanks ends no word, nor does the first of several tokens that share a character.
        flags.append(reach is not None and follows >= reach and text[reach : reach + 1] in BLANKS)
    return flags


def corrected(
    bits: NDArray[np.float64],
    boundary: NDArray[np.float64],
    ends: NDArray[np.bool_],
    starts: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Corrected bits of the tokens of several texts, one text after the other. `boundary`: B after each token;
    `ends`: see `word_ends`; `starts`: where each text begins. NaN = no value."""
    moved = np.where(ends, boundary, 0.0)
    before = np.concatenate(([0.0], moved))[:-1]
    before[starts[starts < len(before)]] = 0.0
    return bits - before + moved


def corrected_scores(text: str, scores: TokenScores) -> TokenScores:
    """The scores of one text with the correction made."""
    columns = (scores.bits, scores.boundary_bits or [None] * len(scores))
    bits, boundary = (np.array(column, dtype=np.float64) for column in columns)
    ends = np.array(word_ends(text, scores.offsets, scores.special), dtype=np.bool_)
    found = corrected(bits, boundary, ends, np.zeros(1, np.int64)).tolist()
    return replace(scores, bits=[None if math.isnan(value) else value for value in found], boundary_bits=None)
