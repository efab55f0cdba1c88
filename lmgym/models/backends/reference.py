"""Compare the values of a completion server with a reference: a model with the same weights, loaded here.

A server may hold other weights than its name says, quantise or scale them, or lose values in a cache. Its responses do
not show this; the same weights elsewhere do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from statistics import fmean
from typing import Any

from lmgym.models.backends.base import Backend
from lmgym.models.backends.start_tokens import sentences
from lmgym.models.engine.policy import ScoringPolicy
from lmgym.models.engine.scores import HALF_TOLERANCE_BITS, ScoringFailure, TokenScores

EVERY = 5
"""Interval between compared sentences: one in EVERY of the hundred plain sentences."""


@dataclass(frozen=True)
class ReferenceComparison:
    """Differences between a model and its reference.

    Attributes:
        sentences: number of sentences compared.
        other_tokens: number of sentences left out because the models divide them into different tokens, or because one
            of them cannot score them.
        tokens: number of tokens with a value in both models.
        mean_difference, largest_difference: absolute differences per token in bits; None if no token was compared.
        largest_at: the text up to the first character of the token with the largest difference.
        tolerance: limit of the largest difference in bits for models that agree.
    """

    sentences: int
    other_tokens: int
    tokens: int
    mean_difference: float | None
    largest_difference: float | None
    largest_at: str
    tolerance: float = HALF_TOLERANCE_BITS

    @property
    def agree(self) -> bool:
        """True if all sentences have the same tokens, with values within the tolerance."""
        return (
            not self.other_tokens
            and self.largest_difference is not None
            and self.largest_difference <= self.tolerance
        )

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON types, with `agree`."""
        return {**asdict(self), "agree": self.agree}

    def note(self, reference: str) -> str:
        """Describe the comparison for the model's page. Models that do not agree are a warning."""
        if self.mean_difference is None or self.largest_difference is None:
            return (
                f"Warning: the values could not be compared with the reference {reference}: none of "
                f"{self.other_tokens} sentences has the same tokens in both models."
            )
        differences = (
            f"{self.mean_difference:.2g} bits per token on average and {self.largest_difference:.2g} bits at most "
            f"(at the end of {self.largest_at}), on {self.tokens:,} tokens of {self.sentences} sentences"
        )
        if self.agree:
            return (
                f"The values agree with the reference {reference} within {self.tolerance} bits; the differences are "
                f"{differences}."
            )
        others = f" Sentences with different tokens: {self.other_tokens}." if self.other_tokens else ""
        return (
            f"Warning: the values do not agree with the reference {reference} within {self.tolerance} bits; the "
            f"differences are {differences}.{others} The server may use other weights, or quantise or scale them."
        )


def compare_with_reference(
    backend: Backend, reference: Backend, *, texts: Sequence[str] | None = None
) -> ReferenceComparison:
    """Score sentences with two models that should have the same weights.

    Args:
        backend: usually a completion server. The reference reads its sentences after the same start token.
        texts: sentences to score; None = 20 plain English ones.

    Raises:
        BackendError: one of the models cannot be used.
        BackendUnavailable: the server does not respond.
    """
    texts = sentences()[::EVERY] if texts is None else list(texts)
    start = getattr(backend, "start_policy", backend.facts.bos or "never")
    pairs = zip(
        texts,
        backend.score(texts, ScoringPolicy()),
        reference.score(texts, ScoringPolicy(bos=start)),
        strict=True,
    )
    gaps: list[tuple[float, str]] = []
    compared = 0
    for text, ours, theirs in pairs:
        if isinstance(ours, ScoringFailure) or isinstance(theirs, ScoringFailure):
            continue
        places = _places(text, ours)
        if places != _places(text, theirs):
            continue
        compared += 1
        gaps += [
            (abs(a - b), f"“{text[max(0, place - 30) : place + 1]}”")
            for place, a, b in zip(places, _bits(ours), _bits(theirs), strict=True)
            if a is not None and b is not None
        ]
    largest, at = max(gaps, default=(None, ""))
    return ReferenceComparison(
        sentences=compared,
        other_tokens=len(texts) - compared,
        tokens=len(gaps),
        mean_difference=fmean(gap for gap, _ in gaps) if gaps else None,
        largest_difference=largest,
        largest_at=at,
    )


def _places(text: str, scores: TokenScores) -> list[int]:
    """Return the first character of each token that is not blank. Servers differ in whether a token includes the blank
    before it, and may not show where a part of a character ends."""
    starts = [
        start for (start, _), special in zip(scores.offsets, scores.special, strict=True) if not special
    ]
    return [len(text) - len(text[start:].lstrip()) for start in starts]


def _bits(scores: TokenScores) -> list[float | None]:
    return [bits for bits, special in zip(scores.bits, scores.special, strict=True) if not special]


def plain_name(name: str) -> str:
    """Return the last part of a name, path or Hub id, for comparing models: "model-1b" for "Org/Model-1B.gguf"."""
    return PurePosixPath(name).name.lower().removesuffix(".gguf")
