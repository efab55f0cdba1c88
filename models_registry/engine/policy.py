"""How sentences are turned into numbers: every choice that changes a result, in one frozen record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

BOS_POLICIES = ("auto", "always", "never")
# The same words as suites.regions uses; a test holds the two together, so that this room needs no other room.
JOIN_POLICIES = ("space", "natural", "none")
WHITESPACE_POLICIES = ("none", "trailing")
TOKEN_POLICIES = ("all", "needed")
METRICS = ("sum", "mean", "median", "range", "max", "min")


@dataclass(frozen=True, slots=True)
class ScoringPolicy:
    """The choices behind a run. JSON-able, hashable, validated on construction (ValueError).

    bos     "auto" puts the tokenizer's start token first when it has one; "always" refuses others;
            "never" leaves the first token of a conditional model unscored.
    eos     whether the end token is predicted too (as a special token outside all regions).
    join    how region texts become a sentence: "space", "natural" or "none" (see suites.regions.join).
    metric  how token bits become a region value: sum, mean, median, range, max or min.
    whitespace  "trailing" moves the bits of "the word is over" from the next word's first token to the word
            itself (see engine.whitespace); a correction of sums only. "none": bits as the model gives them.
    tokens  "all" tokens get a value, or those "needed" for the regions that predictions look at. It changes no
            value: scores are cached and compared without regard to it.
    """

    bos: str = "auto"
    eos: bool = False
    join: str = "space"
    metric: str = "sum"
    whitespace: str = "none"
    tokens: str = "all"

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("bos", self.bos, BOS_POLICIES),
            ("join", self.join, JOIN_POLICIES),
            ("metric", self.metric, METRICS),
            ("whitespace", self.whitespace, WHITESPACE_POLICIES),
            ("tokens", self.tokens, TOKEN_POLICIES),
        ):
            if value not in allowed:
                raise ValueError(f"{name} is {value!r}: choose one of {', '.join(allowed)}")
        if not isinstance(self.eos, bool):
            raise ValueError(f"eos is {self.eos!r}: choose true or false")
        if self.whitespace == "trailing" and self.metric != "sum":
            raise ValueError(
                f"the whitespace correction is defined for the metric sum, not for {self.metric}: "
                "choose metric=sum or whitespace=none"
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, in a fixed order."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ScoringPolicy:
        """The policy that `to_dict` described; missing fields take their defaults, unknown ones are a
        ValueError."""
        unknown = sorted(set(data) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"a scoring policy has no field {', '.join(map(repr, unknown))}")
        return cls(**data)
