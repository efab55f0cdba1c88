"""Tokens of many sentences as flat arrays: shared prefixes, alignment and region values without a loop per sentence.

Pure: numpy only. Results equal those of `share_prefix_scores`, `lmgym.suites.regions.align` and `.region_values` (apart
from totals, see `values_of`) for single sentences; tests compare them. Values are in bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from lmgym.models.engine import ScoringFailure, TokenScores
from lmgym.models.engine.whitespace import corrected, word_ends
from lmgym.suites.regions import AlignmentError, JoinedSentence
from lmgym.text import BLANKS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Scores = TokenScores | ScoringFailure


@dataclass(frozen=True)
class Columns:
    """Flat arrays of all tokens. Token k of sentence s has index `starts[s] + k`; a failure has no tokens.

    Attributes:
        bits: float64; NaN = no value.
        boundary: `TokenScores.boundary_bits`; NaN = no value.
        not_computed: bool; deliberately not scored.
    """

    starts: Ints
    ids: Ints
    begin: Ints
    end: Ints
    bits: Floats
    boundary: Floats
    special: Bools
    not_computed: Bools

    @property
    def sentence(self) -> Ints:
        """Sentence index of every token."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


@dataclass(frozen=True)
class Aligned:
    """Alignment of tokens with regions. `region[t]`: 0-based region of token t, -1 = none. `swallowed[s, r]`:
    region r of sentence s has text but no token of its own."""

    region: Ints
    straddles: Bools
    swallowed: Bools


@dataclass(frozen=True)
class Values:
    """Values of sentences and their regions, one row per sentence.

    Attributes:
        regions, total: bits; NaN = no value.
        special: bits outside regions.
        tokens: number of tokens by region.
        all_tokens: number of tokens with a value.
    """

    regions: Floats
    special: Floats
    total: Floats
    tokens: Ints
    all_tokens: Ints


def columns_of(scores: Sequence[Scores]) -> Columns:
    """Build the flat arrays of these scores."""
    rows = [None if isinstance(row, ScoringFailure) else row for row in scores]
    known = [row for row in rows if row is not None]
    starts = _starts(0 if row is None else len(row.ids) for row in rows)
    n = int(starts[-1])
    offsets = chain.from_iterable(chain.from_iterable(row.offsets for row in known))
    places = np.fromiter(offsets, np.int64, 2 * n).reshape(n, 2)
    skipped = chain.from_iterable(row.not_computed or [False] * len(row.ids) for row in known)
    return Columns(
        starts=starts,
        ids=np.fromiter(chain.from_iterable(row.ids for row in known), np.int64, n),
        begin=places[:, 0],
        end=places[:, 1],
        bits=_floats((row.bits for row in known), n),
        boundary=_floats((row.boundary_bits or [None] * len(row.ids) for row in known), n),
        special=np.fromiter(chain.from_iterable(row.special for row in known), np.bool_, n),
        not_computed=np.fromiter(skipped, np.bool_, n),
    )


def _floats(rows: Iterable[Sequence[float | None]], n: int) -> Floats:
    return np.array(list(chain.from_iterable(rows)), dtype=np.float64).reshape(n)


def _starts(lengths: Iterable[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(np.fromiter(lengths, np.int64)))).astype(np.int64)


def share_prefixes(columns: Columns) -> None:
    """Give the same token after the same prefix the first value found, in place; missing values stay missing. Only for
    left-to-right models: in others a value also depends on the text that follows.

    Prefixes are numbered depth by depth: a prefix is identified by the number of its parent prefix and one token.
    """
    if not len(columns.ids):
        return
    starts = columns.starts[:-1]
    lengths = np.diff(columns.starts)
    kinds = np.unique(columns.ids, return_inverse=True)[1].reshape(-1)
    width = int(kinds.max()) + 1
    prefix = np.zeros(len(starts), np.int64)
    for depth in range(int(lengths.max())):
        sentences = np.flatnonzero(lengths > depth)
        at = starts[sentences] + depth
        numbers = np.unique(prefix[sentences] * width + kinds[at], return_inverse=True)[1].reshape(-1)
        prefix[sentences] = numbers
        for values in (columns.bits, columns.boundary):
            _share(values, at, numbers)


def _share(values: Floats, at: Ints, numbers: Ints) -> None:
    """Give tokens `at` with equal numbers the first value among them."""
    valued = np.flatnonzero(~np.isnan(values[at]))
    if not len(valued):
        return
    groups, first = np.unique(numbers[valued], return_index=True)
    source = np.zeros(int(numbers.max()) + 1, np.int64)
    source[groups] = at[valued[first]]
    values[at[valued]] = values[source[numbers[valued]]]


def needed_alone(columns: Columns, aligned: Aligned, needed: Bools) -> Columns:
    """Remove values of regions that are not needed. `needed`: bool[s, r]; the last column is for tokens outside
    regions."""
    kept = needed[columns.sentence, aligned.region]
    known = ~np.isnan(columns.bits)
    return replace(
        columns,
        bits=np.where(kept, columns.bits, np.nan),
        not_computed=columns.not_computed | (known & ~kept),
    )


def without_leading_blanks(columns: Columns, joined: Sequence[JoinedSentence]) -> Columns:
    """Apply the whitespace correction, see `engine.whitespace`."""
    bounds = columns.starts.tolist()
    places = list(zip(columns.begin.tolist(), columns.end.tolist(), strict=True))
    special = columns.special.tolist()
    ends = chain.from_iterable(
        word_ends(row.text, places[start:stop], special[start:stop])
        for row, (start, stop) in zip(joined, pairwise(bounds), strict=True)
    )
    flags = np.fromiter(ends, np.bool_, len(places))
    return replace(columns, bits=corrected(columns.bits, columns.boundary, flags, columns.starts[:-1]))


def align_all(joined: Sequence[JoinedSentence], columns: Columns, n_regions: int) -> Aligned:
    """Apply `lmgym.suites.regions.align` to all sentences. Raises AlignmentError for a range outside its
    text."""
    n = len(joined)
    lengths = np.fromiter((len(row.text) for row in joined), np.int64, n)
    base = np.concatenate(([0], np.cumsum(lengths)))
    begin, end, sentence = columns.begin, columns.end, columns.sentence
    plain = ~columns.special
    wrong = plain & ((begin < 0) | (begin > end) | (end > lengths[sentence]))
    if wrong.any():
        token = int(np.argmax(wrong))
        raise AlignmentError(
            f"a token has the offsets {begin[token]} to {end[token]}, "
            f"but the text has {lengths[sentence[token]]} characters"
        )
    forward, backward = _visible("".join(row.text for row in joined))
    spans = chain.from_iterable(chain.from_iterable(row.spans for row in joined))
    borders = np.fromiter(spans, np.int64, 2 * n * n_regions).reshape(n, n_regions, 2) + base[:-1, None, None]
    flat = borders.reshape(-1, 2)
    holders = np.flatnonzero(flat[:, 1] > flat[:, 0])
    region = np.full(len(begin), -1, np.int64)
    straddles = np.zeros(len(begin), np.bool_)
    tokens = np.flatnonzero(plain & (lengths[sentence] > 0))
    covered = np.zeros(n * n_regions, np.bool_)
    if len(tokens) and len(holders):
        offset = base[sentence[tokens]]
        first, last = _edges(
            begin[tokens] + offset,
            end[tokens] + offset,
            offset,
            base[sentence[tokens] + 1],
            forward,
            backward,
        )
        home = holders[np.searchsorted(flat[holders, 0], first, "right") - 1]
        far = holders[np.searchsorted(flat[holders, 0], last, "right") - 1]
        region[tokens] = home % n_regions
        straddles[tokens] = far != home
        covered[home] = True
    swallowed = np.zeros(n * n_regions, np.bool_)
    shows = forward[flat[holders, 0]] < flat[holders, 1]
    swallowed[holders] = shows & ~covered[holders]
    return Aligned(region, straddles, swallowed.reshape(n, n_regions))


def _visible(text: str) -> tuple[Ints, Ints]:
    """Return, for each position, the next and the previous non-blank character (len(text) or -1 if there is none)."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    used = np.bincount(codes) > 0
    for code in np.flatnonzero(used).tolist():
        used[code] = chr(code) in BLANKS
    blank = used[codes]
    at = np.arange(len(codes) + 1)
    forward = np.append(np.where(blank, len(codes), at[:-1]), len(codes))
    backward = np.where(blank, -1, at[:-1])
    return np.minimum.accumulate(forward[::-1])[::-1], np.maximum.accumulate(backward)


def _edges(
    begin: Ints, end: Ints, opens: Ints, closes: Ints, forward: Ints, backward: Ints
) -> tuple[Ints, Ints]:
    """Return the first and last non-blank character of each token. A blank token gets the next non-blank character,
    else its own position. `opens`, `closes`: bounds of the token's sentence."""
    reached = np.maximum.accumulate(end)  # sentences are consecutive, so no earlier one reaches into this one
    full = end > begin
    shows = full & (forward[begin] < end)
    reach = np.where(full, end, reached)
    after = forward[reach]
    own_position = np.where(full, begin, np.maximum(np.minimum(reach, closes - 1), opens))
    other = np.where(after < closes, after, own_position)
    last = backward[np.maximum(end - 1, 0)]
    return np.where(shows, forward[begin], other), np.where(shows, last, other)


def values_of(columns: Columns, aligned: Aligned, n_regions: int, metric: str = "sum") -> Values:
    """Apply `lmgym.suites.regions.region_values` to all sentences. `total` sums all tokens with a value; it
    is NaN if no token has a value or a token was not computed."""
    n = len(columns.starts) - 1
    sentence, bits = columns.sentence, columns.bits
    inside = np.flatnonzero(aligned.region >= 0)
    keys = sentence[inside] * n_regions + aligned.region[inside]
    tokens = np.bincount(keys, minlength=n * n_regions)
    values = _aggregate(bits[inside], keys, tokens, metric).reshape(n, n_regions)
    values[aligned.swallowed] = np.nan
    valued = ~np.isnan(bits)
    outside = np.flatnonzero((aligned.region < 0) & valued)
    scored = np.flatnonzero(valued)
    total = grouped_sums(bits[scored], sentence[scored], n)
    total[np.bincount(sentence[scored], minlength=n) == 0] = np.nan
    total[sentence[columns.not_computed]] = np.nan
    return Values(
        regions=values,
        special=grouped_sums(bits[outside], sentence[outside], n),
        total=total,
        tokens=tokens.reshape(n, n_regions),
        all_tokens=np.bincount(sentence[valued], minlength=n),
    )


def _aggregate(bits: Floats, keys: Ints, tokens: Ints, metric: str) -> Floats:
    """Compute one value per key 0 … len(tokens)-1. A key without tokens is 0 for `sum`, else NaN; NaN propagates."""
    if metric == "sum":
        return grouped_sums(bits, keys, len(tokens))
    values = np.full(len(tokens), np.nan)
    held = np.flatnonzero(tokens)
    if not len(held):
        return values
    if metric == "mean":
        values[held] = grouped_sums(bits, keys, len(tokens))[held] / tokens[held]
        return values
    ordered = bits[np.lexsort((bits, keys))]  # NaN sorts last within its key
    stop = np.cumsum(tokens[held])
    start = stop - tokens[held]
    low, high = ordered[start], ordered[stop - 1]
    middle = (ordered[(start + stop - 1) // 2] + ordered[(start + stop) // 2]) / 2
    with np.errstate(invalid="ignore"):  # infinite values
        spread = high - low
    aggregate = {"median": middle, "range": spread, "max": high, "min": low}[metric]
    values[held] = np.where(np.isnan(high), np.nan, aggregate)
    return values


def grouped_sums(bits: Floats, keys: Ints, n: int) -> Floats:
    """Sum by key, rounded once: the rounding error of every addition is kept and added at the end (Neumaier).
    Equals `math.fsum` for values computed in single precision; with an infinite value the sum is infinite. Takes as
    many steps as the largest group has members."""
    order = np.argsort(keys, kind="stable")
    bits, counts = bits[order], np.bincount(keys, minlength=n)
    first = np.cumsum(counts) - counts
    high, low = np.zeros(n), np.zeros(n)
    for step in range(int(counts.max()) if n else 0):
        groups = np.flatnonzero(counts > step)
        value, before = bits[first[groups] + step], high[groups]
        after = before + value
        with np.errstate(invalid="ignore"):  # infinite values
            part = after - before
            low[groups] += (before - (after - part)) + (value - part)
        high[groups] = after
    finite = np.isfinite(high)  # elsewhere the rounding error is NaN
    return np.where(finite, high + low, high)
