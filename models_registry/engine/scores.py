"""What a backend hands back for one text: token scores, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TokenScores:
    """The tokens of one text, column by column; all columns have the same length (else ValueError).

    tokens   vocabulary spelling of each token
    ids      vocabulary number of each token
    offsets  character range [start, end) in the scored text; (0, 0) for a start, (n, n) for an end token
    bits     surprisal -log2 p(token | everything before); None = not scored, which is never the same as 0
    special  start and end tokens, which belong to no region
    """

    tokens: list[str]
    ids: list[int]
    offsets: list[tuple[int, int]]
    bits: list[float | None]
    special: list[bool]

    def __post_init__(self) -> None:
        lengths = {len(column) for column in (self.tokens, self.ids, self.offsets, self.bits, self.special)}
        if len(lengths) > 1:
            raise ValueError(f"columns of unequal length: {sorted(lengths)}")

    def __len__(self) -> int:
        return len(self.tokens)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types (offsets become two-element lists)."""
        return {
            "tokens": list(self.tokens),
            "ids": list(self.ids),
            "offsets": [list(pair) for pair in self.offsets],
            "bits": list(self.bits),
            "special": list(self.special),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TokenScores:
        """The scores that `to_dict` described."""
        return cls(
            tokens=[str(token) for token in data["tokens"]],
            ids=[int(number) for number in data["ids"]],
            offsets=[(int(start), int(end)) for start, end in data["offsets"]],
            bits=[None if value is None else float(value) for value in data["bits"]],
            special=[bool(flag) for flag in data["special"]],
        )


@dataclass(frozen=True, slots=True)
class ScoringFailure:
    """This one text could not be scored; `reason` is a sentence for people. Other texts are not affected.

    `transient` says that it may work another time (memory ran out); such a failure is never kept.
    """

    reason: str
    transient: bool = False
