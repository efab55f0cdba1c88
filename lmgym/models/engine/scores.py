"""Scores of one text, numerical error bounds, and exact ties of equal prefixes.

Error bounds are for one token relative to the same weights in float64: the largest differences measured on GPT-2-small
shapes and the tiny models of the tests, rounded up. fp32: 2.4e-4 nats = 3.5e-4 bits (packed kernels), or 1.9e-4 bits
one sentence at a time. No useful bound exists for half-precision types: the largest error seen is used, and differences
measured when a model is loaded can only raise it (`error_bound`). Their outcomes are judged by the standard deviation
of the error instead, if it was measured (`TokenError`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar


@dataclass(frozen=True, slots=True)
class TokenScores:
    """Tokens of one text, as columns of equal length.

    Attributes:
        tokens: spelling in the vocabulary.
        ids: id in the vocabulary.
        offsets: character range [start, end) in the text; (0, 0) for a start token, (n, n) for an end token.
        bits: surprisal -log2 p(token | preceding text); None = not scored.
        special: True for start and end tokens, which belong to no region.
        not_computed: True for tokens without a value because they were not requested (`needed` of
            `Backend.score`); empty if all were requested. Other tokens with None cannot have a value.
        boundary_bits: only with the policy whitespace="trailing", under which `bits` are raw: -log2 of the probability
            that whitespace or the end follows the token (after a start token: that no whitespace follows); None = not
            computed. See engine.whitespace.

    Raises:
        ValueError: columns of different length.
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
        """True if all tokens were requested."""
        return not any(self.not_computed)

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON types; the last two columns are omitted if empty."""
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
        """Restore scores from `to_dict`."""
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
    """Failure to score one text; other texts are not affected.

    Attributes:
        reason: a sentence for the user.
        transient: a retry may succeed (memory ran out); such a failure is never cached.
    """

    reason: str
    transient: bool = False


Scored = TypeVar("Scored", TokenScores, TokenScores | ScoringFailure)


def share_prefix_scores(scores: Sequence[Scored]) -> list[Scored]:
    """Give equal tokens after equal prefixes the value of their first occurrence, so that they tie exactly.

    Batches of different shapes give values that differ in the last fp32 digits, which would decide comparisons that
    should be ties. Unscored tokens stay unscored. All scores must come from one left-to-right model
    (`ModelFacts.left_to_right`) and one policy: values that depend on following text must not be shared. Uses one
    dictionary entry per distinct prefix.
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

TOLERANCE_BITS: Mapping[str, float] = {"float64": 5e-4, "float32": 5e-4}
HALF_TOLERANCE_BITS = 0.25


def tolerance_bits(dtype: str) -> float:
    """Return the tolerated difference in bits between two computations of one token, such as alone and in a batch."""
    return TOLERANCE_BITS.get(dtype, HALF_TOLERANCE_BITS)


def error_bound(dtype: str, *, half: float = 0.0, optimised: float = 0.0) -> float:
    """Bound the error of one token of a loaded model, in bits.

    Args:
        half: largest difference between the model in half precision and in float32; doubled, because only a few tokens
            were compared.
        optimised: largest difference between the optimised and the plain model.
    """
    return max(ERROR_BITS[dtype], 2 * half, optimised)


SIGMAS = 3.0
"""A margin smaller than this many standard deviations of its error is too close to call."""


@dataclass(frozen=True, slots=True)
class TokenError:
    """Numerical error of one token's surprisal, in bits.

    Attributes:
        bound: bound on its size.
        sd: its standard deviation, measured for half-precision types; None = unknown.
    """

    bound: float
    sd: float | None = None

    def of_margin(self, tokens: Any, weight: Any) -> Any:
        """Bound the error of a margin, in bits. A smaller margin is too close to call.

        Errors of different tokens are almost independent, so they add up like a random walk. The bound of several
        tokens has a factor 2 for their correlation; a standard deviation that is known is used instead of the bound.

        Args:
            tokens: number of tokens in the margin; a number or an array.
            weight: sum of the squared factors of these tokens, of the same type; `tokens` for a plain sum or
                difference.
        """
        per_token = self.bound * (1 + (tokens > 1)) if self.sd is None else SIGMAS * self.sd
        return per_token * weight**0.5
