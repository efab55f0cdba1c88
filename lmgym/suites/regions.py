"""From region texts to a sentence, and from a sentence's tokens back to its regions. Pure: no Django, no
torch.

A sentence is joined once and encoded whole. Each region owns a span of characters: its text plus the blank
that joins it to what stands before. A token belongs to the region in which its first non-blank character
lies; a token of blanks alone belongs to the region after the blanks. Spaces that do not break are no blanks
but text. Start, end and other special tokens belong to no region. All values are surprisals in bits.
`docs/surprisal.md` gives the reasons and the known limits.
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
# \s: with or without a space that does not break
_BEGINS_ATTACHED = re.compile(rf"\s*[{re.escape(ATTACHED)}]")

FloatArray: TypeAlias = NDArray[np.float64]


class AlignmentError(ValueError):
    """Token offsets that do not fit the sentence, or columns of unequal length."""


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of the joined text; the joining blank is inside."""

    start: int
    end: int


class JoinedSentence(NamedTuple):
    """The text that a model reads, and one span per region, in order, without gaps or overlaps."""

    text: str
    spans: tuple[Span, ...]


class Alignment(NamedTuple):
    """Where each token belongs.

    `region[k]` is the 0-based region of token k, or -1 for a special token.
    `straddles[k]` says that the non-blank characters of token k lie in more than one region.
    `swallowed` lists the regions that hold text but no token of their own, because a token that began in an
    earlier region reaches over all of it or because the tokenizer dropped its characters.
    """

    region: list[int]
    straddles: list[bool]
    swallowed: tuple[int, ...] = ()


class RegionValues(NamedTuple):
    """Bits per region (`values`, float64[n_regions]), of the special tokens, and of the whole sentence."""

    values: FloatArray
    special: float
    total: float


def join(contents: Sequence[str], policy: str = "space") -> JoinedSentence:
    """Join region texts into one sentence.

    `space` puts one blank between non-empty regions; `natural` does the same but leaves no blank before
    . , ; : ! ? (neither between regions nor inside one); `none` joins directly. Spaces that do not break are
    text: all policies keep them. An empty region gets an empty span and no blank. Contents are used as given:
    trimming them is the importer's work.
    Raises ValueError for an unknown policy.
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
    """Assign every token to exactly one region, or to -1 when it is special.

    `offsets[k]` is the character range of token k in `joined.text`, with or without its leading blank; it
    may be empty, and several tokens may share the offsets of one character (byte-level vocabularies).
    Offsets of special tokens are not read. Raises AlignmentError when a range runs outside the text or the
    columns differ in length.
    """
    if len(offsets) != len(special):
        raise AlignmentError(f"{len(offsets)} offsets but {len(special)} special flags")
    text = joined.text
    holders = [index for index, span in enumerate(joined.spans) if span.end > span.start]
    starts = [joined.spans[index].start for index in holders]
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
        home = holders[bisect_right(starts, first) - 1] if holders else SPECIAL
        far = holders[bisect_right(starts, last) - 1] if holders else SPECIAL
        region.append(home)
        straddles.append(far != home)
        covered.add(home)
    swallowed = tuple(
        index
        for index in holders
        if index not in covered and text[joined.spans[index].start : joined.spans[index].end].strip(BLANKS)
    )
    return Alignment(region, straddles, swallowed)


def _edges(text: str, start: int, end: int, reached: int) -> tuple[int, int]:
    """First and last non-blank character of a token; for a token of blanks, the next non-blank character."""
    inside = text[start:end]
    if inside.strip(BLANKS):
        first = start + len(inside) - len(inside.lstrip(BLANKS))
        return first, start + len(inside.rstrip(BLANKS)) - 1
    # An empty range says little about the place: never look behind what earlier tokens have reached.
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
    """Aggregate token bits by region.

    `bits[k]` is None or NaN for an unscored token. A region with an unscored token is NaN, and so is a
    region whose text was swallowed by a token of another region. A region without tokens is 0 for `sum` and
    NaN for the other metrics. `special` is the sum over the scored special tokens (a start token is given,
    not predicted, and adds nothing). `total` is always a sum: all regions' tokens plus `special`, NaN if a
    token of a region is unscored. Raises ValueError for an unknown metric and AlignmentError for columns
    that do not fit.
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
    """One region's value; NaN spreads through every metric."""
    if not member:
        return 0.0 if metric == "sum" else math.nan
    if any(math.isnan(value) for value in member):
        return math.nan
    return _AGGREGATES[metric](np.array(member, dtype=np.float64))
