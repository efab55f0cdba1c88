"""Join region texts into a sentence, and map the tokens of the sentence back to regions.

A sentence is joined once and encoded as a whole. Each region owns a span of characters: its text plus the space that
joins it to the preceding text. A token belongs to the region of its first non-blank character; a token of whitespace
only belongs to the next region. No-break spaces count as text, not as whitespace. Start, end and other special
tokens belong to no region. All values are surprisals in bits. docs/surprisal.md gives reasons and known limits.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lmgym.text import BLANKS

JOIN_POLICIES = ("space", "natural", "none")
METRICS = ("sum", "mean", "median", "range", "max", "min")
SPECIAL = -1

ATTACHED = ".,;:!?"
_BLANK_BEFORE_ATTACHED = re.compile(rf"[{BLANKS}]+(?=[{re.escape(ATTACHED)}])")
# \s includes no-break spaces.
_BEGINS_ATTACHED = re.compile(rf"\s*[{re.escape(ATTACHED)}]")

FloatArray: TypeAlias = NDArray[np.float64]


class AlignmentError(ValueError):
    """Token offsets lie outside the sentence, or columns differ in length."""


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of the joined text, including the joining space."""

    start: int
    end: int


class JoinedSentence(NamedTuple):
    """The text that a model reads, with one span per region, in order and without gaps or overlaps."""

    text: str
    spans: tuple[Span, ...]


class Alignment(NamedTuple):
    """Region of each token of a sentence.

    Attributes:
        region: int[n_tokens], region index from 0, or -1 for a special token.
        straddles: bool[n_tokens], True if the non-blank characters of the token lie in more than one region.
        swallowed: indices of regions with text but without a token, because a token of an earlier region covers all of
            their text or the tokenizer dropped it.
    """

    region: list[int]
    straddles: list[bool]
    swallowed: tuple[int, ...] = ()


class RegionValues(NamedTuple):
    """Surprisals in bits.

    Attributes:
        values: float64[n_regions], NaN = no value.
        special: sum over special tokens.
        total: sum over the whole sentence.
    """

    values: FloatArray
    special: float
    total: float


def join(contents: Sequence[str], policy: str = "space") -> JoinedSentence:
    """Join region texts into one sentence.

    An empty region gets an empty span and no space. Texts are not trimmed (import does that), and no-break spaces are
    kept.

    Args:
        contents: text of each region.
        policy: "space" puts one space between non-empty regions; "natural" does the same, but removes spaces before . ,
            ; : ! ? between and inside regions; "none" adds nothing.

    Raises:
        ValueError: unknown policy.
    """
    if policy not in JOIN_POLICIES:
        raise ValueError(f"unknown join policy {policy!r}: choose one of {', '.join(JOIN_POLICIES)}")
    pieces: list[str] = []
    spans: list[Span] = []
    end = 0
    for content in contents:
        piece = _BLANK_BEFORE_ATTACHED.sub("", content) if policy == "natural" else content
        if piece and end and policy != "none" and not (policy == "natural" and _BEGINS_ATTACHED.match(piece)):
            piece = " " + piece
        pieces.append(piece)
        spans.append(Span(end, end + len(piece)))
        end += len(piece)
    return JoinedSentence("".join(pieces), tuple(spans))


def align(joined: JoinedSentence, offsets: Sequence[tuple[int, int]], special: Sequence[bool]) -> Alignment:
    """Assign each token to one region, or to -1 if it is special.

    Args:
        joined: the sentence that was tokenized.
        offsets: (start, end) characters of each token in `joined.text`, with or without the leading space. A range may
            be empty, and several tokens may share one character (byte-level vocabularies).
        special: True for special tokens, whose offsets are ignored.

    Raises:
        AlignmentError: a range lies outside the text, or the columns differ in length.
    """
    if len(offsets) != len(special):
        raise AlignmentError(f"{len(offsets)} offsets but {len(special)} special flags")
    text = joined.text
    filled = [index for index, span in enumerate(joined.spans) if span.end > span.start]
    starts = [joined.spans[index].start for index in filled]
    region: list[int] = []
    straddles: list[bool] = []
    covered: set[int] = set()
    reached = 0
    for token, ((start, end), is_special) in enumerate(zip(offsets, special, strict=True)):
        if is_special:
            region.append(SPECIAL)
            straddles.append(False)
            continue
        if not 0 <= start <= end <= len(text):
            raise AlignmentError(
                f"token {token} has the offsets {start} to {end}, but the text has {len(text)} characters"
            )
        reached = max(reached, end)
        first, last = _edges(text, start, end, reached)
        first_region = filled[bisect_right(starts, first) - 1] if filled else SPECIAL
        last_region = filled[bisect_right(starts, last) - 1] if filled else SPECIAL
        region.append(first_region)
        straddles.append(last_region != first_region)
        covered.add(first_region)
    swallowed = tuple(
        index
        for index in filled
        if index not in covered and text[joined.spans[index].start : joined.spans[index].end].strip(BLANKS)
    )
    return Alignment(region, straddles, swallowed)


def _edges(text: str, start: int, end: int, reached: int) -> tuple[int, int]:
    """Return the first and last non-blank character of a token; for whitespace only, the next non-blank character."""
    inside = text[start:end]
    if inside.strip(BLANKS):
        first = start + len(inside) - len(inside.lstrip(BLANKS))
        return first, start + len(inside.rstrip(BLANKS)) - 1
    # The offset of an empty range is unreliable: never go back before the end of earlier tokens.
    position = end if inside else max(end, reached)
    rest = text[position:]
    after = len(rest) - len(rest.lstrip(BLANKS))
    if after < len(rest):
        return position + after, position + after
    place = start if inside else max(min(position, len(text) - 1), 0)
    return place, place


_AGGREGATES: dict[str, Callable[[FloatArray], float]] = {
    "sum": lambda values: math.fsum(values),
    "mean": lambda values: math.fsum(values) / len(values),
    "median": lambda values: float(np.median(values)),
    "range": lambda values: float(values.max() - values.min()),
    "max": lambda values: float(values.max()),
    "min": lambda values: float(values.min()),
}


def region_values(
    alignment: Alignment, bits: Sequence[float | None], n_regions: int, metric: str = "sum"
) -> RegionValues:
    """Aggregate token surprisals to region values.

    Args:
        alignment: token-to-region map from `align`.
        bits: float[n_tokens], surprisal in bits; None or NaN for an unscored token.
        n_regions: number of regions of the sentence.
        metric: "sum" (SyntaxGym), "mean", "median", "range", "max" or "min" over the tokens of a region.

    Returns:
        RegionValues. A region is NaN if one of its tokens is unscored or its text was swallowed by a token of another
        region. A region without tokens is 0 for "sum" and NaN otherwise. `special` sums the scored special tokens (a
        start token is not predicted and adds nothing). `total` is a sum for every metric; it is NaN if a token
        of a region is unscored.

    Raises:
        ValueError: unknown metric.
        AlignmentError: columns of different length, or a token in a region that does not exist.
    """
    if metric not in METRICS:
        raise ValueError(f"unknown metric {metric!r}: choose one of {', '.join(METRICS)}")
    if len(alignment.region) != len(bits):
        raise AlignmentError(f"{len(alignment.region)} aligned tokens but {len(bits)} values")
    members: list[list[float]] = [[] for _ in range(n_regions)]
    specials: list[float] = []
    for home, value in zip(alignment.region, bits, strict=True):
        number = math.nan if value is None else float(value)
        if home == SPECIAL:
            if not math.isnan(number):
                specials.append(number)
        elif home < n_regions:
            members[home].append(number)
        else:
            raise AlignmentError(f"a token is aligned to region {home}, but there are {n_regions} regions")
    values = np.array([_aggregate(member, metric) for member in members], dtype=np.float64)
    for index in alignment.swallowed:
        values[index] = math.nan
    special = math.fsum(specials)
    total = math.fsum([special, *(value for member in members for value in member)])
    return RegionValues(values, special, total)


def _aggregate(member: list[float], metric: str) -> float:
    """Aggregate the tokens of one region; any NaN makes the value NaN."""
    if not member:
        return 0.0 if metric == "sum" else math.nan
    if any(math.isnan(value) for value in member):
        return math.nan
    return _AGGREGATES[metric](np.array(member, dtype=np.float64))
