"""What a backend hands back for one text: token scores, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class TokenScores:
    """The tokens of one text, column by column; all columns have the same length (else ValueError).

    tokens   vocabulary spelling of each token
    ids      vocabulary number of each token
    offsets  character range [start, end) in the scored text; (0, 0) for a start, (n, n) for an end token
    bits     surprisal -log2 p(token | everything before); None = not scored, which is never the same as 0
    special  start and end tokens, which belong to no region
    pending  tokens whose bits are None because nobody asked for them yet (see `Backend.score`, `needed`);
             no entries = none is pending. A token that is None and not pending has no value at all
    boundary_bits  only with the policy whitespace="trailing": -log2 of the probability that a blank or the end
             comes right after this token; None = not computed. After a start token: that no blank comes. See
             engine.whitespace
    """

    tokens: list[str]
    ids: list[int]
    offsets: list[tuple[int, int]]
    bits: list[float | None]
    special: list[bool]
    pending: list[bool] = field(default_factory=list)
    boundary_bits: list[float | None] | None = None

    def __post_init__(self) -> None:
        columns: list[Sequence[Any]] = [self.tokens, self.ids, self.offsets, self.bits, self.special]
        lengths = {len(column) for column in columns}
        if self.pending:
            lengths.add(len(self.pending))
        if self.boundary_bits is not None:
            lengths.add(len(self.boundary_bits))
        if len(lengths) > 1:
            raise ValueError(f"columns of unequal length: {sorted(lengths)}")

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def complete(self) -> bool:
        """Whether no token is pending."""
        return not any(self.pending)

    def pending_spans(self) -> list[tuple[int, int]]:
        """What to ask for next: the character ranges of the pending tokens, as `needed` takes them."""
        return [span for span, waits in zip(self.offsets, self.pending, strict=bool(self.pending)) if waits]

    def filled(self, later: TokenScores) -> TokenScores:
        """These scores with pending values taken from a later scoring of the same text (else ValueError)."""
        if self.ids != later.ids or self.offsets != later.offsets:
            raise ValueError("the scores belong to different texts or tokenizers")
        waits = self.pending or [False] * len(self)
        waits_later = later.pending or [False] * len(self)
        bits = [new if wait else old for old, new, wait in zip(self.bits, later.bits, waits, strict=True)]
        pending = [a and b for a, b in zip(waits, waits_later, strict=True)]
        return replace(
            self,
            bits=bits,
            pending=pending if any(pending) else [],
            boundary_bits=_either(self.boundary_bits, later.boundary_bits),
        )

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
            record["pending"] = list(self.pending)
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
            pending=[bool(flag) for flag in data.get("pending", ())],
            boundary_bits=_optional(data.get("boundary_bits")),
        )


def _optional(values: Sequence[float | None] | None) -> list[float | None] | None:
    if values is None:
        return None
    return [None if value is None else float(value) for value in values]


def _either(first: list[float | None] | None, second: list[float | None] | None) -> list[float | None] | None:
    """Each value from the first list that has it."""
    if first is None or second is None:
        return first if second is None else second
    return [b if a is None else a for a, b in zip(first, second, strict=True)]


@dataclass(frozen=True, slots=True)
class ScoringFailure:
    """This one text could not be scored; `reason` is a sentence for people. Other texts are not affected.

    `transient` says that it may work another time (memory ran out); such a failure is never kept.
    """

    reason: str
    transient: bool = False
