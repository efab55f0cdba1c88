"""What a backend hands back for one text: token scores, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


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
