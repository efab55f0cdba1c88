"""How sentences are turned into numbers: every choice that changes a result, in one frozen record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

BOS_POLICIES = ("auto", "always", "never")
MAX_BOS = 100
"""Characters of a start token that is given by name."""
_SLIPS = frozenset({*BOS_POLICIES, "none", "no", "yes", "true", "false"})
# The same words as lmgym.suites.regions uses; a test holds the two together, so that this room needs no other room.
JOIN_POLICIES = ("space", "natural", "none")
WHITESPACE_POLICIES = ("none", "trailing")
TOKEN_POLICIES = ("all", "needed")
METRICS = ("sum", "mean", "median", "range", "max", "min")


@dataclass(frozen=True, slots=True)
class ScoringPolicy:
    """The choices behind a run. JSON-able, hashable, validated on construction (ValueError).

    bos     "auto" puts the model's own start token first when it has one (ModelFacts.bos); "always" refuses models
            without one; "never" leaves the first token of a conditional model unscored. Anything else is the token
            that is put first, spelled as the vocabulary does: "<|endoftext|>".
    eos     whether the end token is predicted too (as a special token outside all regions).
    join    how region texts become a sentence: "space", "natural" or "none" (see lmgym.suites.regions.join).
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
        if problem := bos_problem(self.bos):
            raise ValueError(problem)
        for name, value, allowed in (
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

    @property
    def named_bos(self) -> str | None:
        """The start token that is given by name; None where the model's own is meant, or none."""
        return None if self.bos in BOS_POLICIES else self.bos

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


def bos_problem(value: object) -> str:
    """Why this is no choice of a start token; empty where it is one. Whether a model has the token is known when it is
    loaded."""
    choices = f"choose one of {', '.join(BOS_POLICIES)}, or a token as the vocabulary spells it, such as <|endoftext|>"
    if not isinstance(value, str):
        return f"bos is {value!r}: {choices}"
    if (
        value not in BOS_POLICIES and value.lower() in _SLIPS
    ):  # words, too, but nobody begins sentences with them
        return f"bos is {value!r}: {choices}"
    if not value.strip() or not value.isprintable() or len(value) > MAX_BOS:
        return f"bos is {value[:MAX_BOS]!r}, which is no token: {choices}"
    return ""
