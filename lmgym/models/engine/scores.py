"""What a backend hands back for one text, token scores or the reason why there are none; how far a value may be off,
numerically; and how equal beginnings of texts get equal bits, so that equal sentences tie exactly. Pure.

The bounds are for the error of one token against the same weights in float64, as measured on GPT-2-small shapes and the
tiny models of the tests, doubled. fp32: largest difference 2.4e-4 nats = 3.5e-4 bits (packed kernels), one sentence at
a time 1.9e-4 bits. Half types have no useful bound; theirs says how wrong they were seen to be, and what is seen of a
model at its loading can only raise it (`error_bound`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar


@dataclass(frozen=True, slots=True)
class TokenScores:
    """The tokens of one text, column by column; all columns have the same length (else ValueError).

    tokens   vocabulary spelling of each token
    ids      vocabulary number of each token
    offsets  character range [start, end) in the scored text; (0, 0) for a start, (n, n) for an end token
    bits     surprisal -log2 p(token | everything before); None = not scored, which is never the same as 0
    special  start and end tokens, which belong to no region
    not_computed   tokens whose bits are None because nobody asked for them (see `Backend.score`, `needed`); no
             entries = all were asked for. A token that is None and not flagged here has no value at all
    boundary_bits  only with the policy whitespace="trailing", whose `bits` are still raw: -log2 of the probability
             that a blank or the end comes right after this token; None = not computed. After a start token: that
             no blank comes. See engine.whitespace
    """

    tokens: list[str]
    ids: list[int]
    offsets: list[tuple[int, int]]
    bits: list[float | None]
    special: list[bool]
    not_computed: list[bool] = field(default_factory=list)
    boundary_bits: list[float | None] | None = None

    def __post_init__(self) -> None:
        columns: list[Sequence[Any]] = [self.tokens, self.ids, self.offsets, self.bits, self.special]
        lengths = {len(column) for column in columns}
        if self.not_computed:
            lengths.add(len(self.not_computed))
        if self.boundary_bits is not None:
            lengths.add(len(self.boundary_bits))
        if len(lengths) > 1:
            raise ValueError(f"columns of unequal length: {sorted(lengths)}")

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def complete(self) -> bool:
        """Whether all tokens were asked for."""
        return not any(self.not_computed)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types (offsets become two-element lists); the last two columns only where they say
        something."""
        record: dict[str, Any] = {
            "tokens": list(self.tokens),
            "ids": list(self.ids),
            "offsets": [list(pair) for pair in self.offsets],
            "bits": list(self.bits),
            "special": list(self.special),
        }
        if not self.complete:
            record["not_computed"] = list(self.not_computed)
        if self.boundary_bits is not None:
            record["boundary_bits"] = list(self.boundary_bits)
        return record

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TokenScores:
        """The scores that `to_dict` described."""
        return cls(
            tokens=[str(token) for token in data["tokens"]],
            ids=[int(number) for number in data["ids"]],
            offsets=[(int(start), int(end)) for start, end in data["offsets"]],
            bits=[None if value is None else float(value) for value in data["bits"]],
            special=[bool(flag) for flag in data["special"]],
            not_computed=[bool(flag) for flag in data.get("not_computed", ())],
            boundary_bits=_optional(data.get("boundary_bits")),
        )


def _optional(values: Sequence[float | None] | None) -> list[float | None] | None:
    if values is None:
        return None
    return [None if value is None else float(value) for value in values]


@dataclass(frozen=True, slots=True)
class ScoringFailure:
    """This one text could not be scored; `reason` is a sentence for people. Other texts are not affected.

    `transient` says that it may work another time (memory ran out); such a failure is never kept.
    """

    reason: str
    transient: bool = False


Scored = TypeVar("Scored", TokenScores, TokenScores | ScoringFailure)


def share_prefix_scores(scores: Sequence[Scored]) -> list[Scored]:
    """Give the same token after the same prefix of ids the value that came first; the input is not changed.

    Batches of different shapes give values that differ in the last fp32 digits, which would decide
    comparisons that should be ties. An unscored token stays unscored and never hides a later value;
    failures pass through. All scores must come from one left-to-right model (`ModelFacts.left_to_right`) and one
    policy: a value that depends on what follows must not be shared. Cost: one dictionary entry
    per distinct prefix.
    """
    children: dict[tuple[int, int], int] = {}
    first: list[float | None] = [None]
    shared: list[Scored] = []
    for score in scores:
        if isinstance(score, ScoringFailure):
            shared.append(score)
            continue
        node = 0
        bits: list[float | None] = []
        for token, value in zip(score.ids, score.bits, strict=True):
            node = children.setdefault((node, token), len(first))
            if node == len(first):
                first.append(None)
            if first[node] is None:
                first[node] = value
            bits.append(None if value is None else first[node])
        shared.append(replace(score, bits=bits))
    return shared


ERROR_BITS: Mapping[str, float] = {"float64": 1e-9, "float32": 5e-4, "float16": 0.1, "bfloat16": 0.5}
"""Bound on one token's error in bits, by dtype."""
HALF_TYPES = ("float16", "bfloat16")


def error_bound(dtype: str, *, half: float = 0.0, ways: float = 0.0) -> float:
    """Bound in bits on one token's error for one loaded model.

    half  largest difference seen between the model in its half type and in float32; it counts twice, because only
          a few tokens were looked at
    ways  largest difference seen between the ways to the same value that the runner takes
    """
    return max(ERROR_BITS[dtype], 2 * half, ways)


def margin_bound(per_token: float, tokens: int) -> float:
    """Bound in bits on the error of a sum (or difference) over `tokens` token values.

    Errors of different tokens are hardly related, so they add up like a random walk; the factor 2 covers
    what relation there is. A margin below this is too close to call.
    """
    return per_token * (2 * math.sqrt(tokens) if tokens > 1 else 1.0)
