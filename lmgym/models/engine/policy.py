"""Scoring policy: all choices that affect the values of a run, in one frozen record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

BOS_POLICIES = ("auto", "always", "never")
MAX_BOS = 100
"""Maximum number of characters of a start token."""
_MISTAKES = frozenset({*BOS_POLICIES, "none", "no", "yes", "true", "false"})
# Equal to the values in lmgym.suites.regions, which models may not import; a test compares the two.
JOIN_POLICIES = ("space", "natural", "none")
WHITESPACE_POLICIES = ("none", "trailing")
TOKEN_POLICIES = ("all", "needed")
METRICS = ("sum", "mean", "median", "range", "max", "min")


@dataclass(frozen=True, slots=True)
class ScoringPolicy:
    """Choices that determine the values of a run. Convertible to JSON and hashable.

    Attributes:
        bos: "auto" prepends the model's start token if it has one (ModelFacts.bos); "always" does so too, but rejects
            models without a start token; with "never" no token is prepended, so that the first token has no value. Any
            other value is the token to prepend, spelled as in the vocabulary: "<|endoftext|>".
        eos: score the end token as well (a special token outside all regions).
        join: how region texts are joined: "space", "natural" or "none" (see lmgym.suites.regions.join).
        metric: how token surprisals are aggregated to regions: sum, mean, median, range, max or min.
        whitespace: "trailing" moves the surprisal of the end of a word from the next word's first token to the word
            itself (see engine.whitespace), only with the metric sum; "none" leaves surprisals unchanged.
        tokens: score "all" tokens, or only those "needed" for regions in predictions. Values do not depend on it, and
            it is ignored when scores are cached or compared.
        overlap: None refuses texts longer than the model's context. A number scores them in windows of the context's
            length, each after the start token, of which consecutive ones share this many tokens. A token has its value
            from the first window that contains it, so at least `overlap` tokens precede it (see engine.windows).

    Raises:
        ValueError: an invalid value or combination.
    """

    bos: str = "auto"
    eos: bool = False
    join: str = "space"
    metric: str = "sum"
    whitespace: str = "none"
    tokens: str = "all"
    overlap: int | None = None

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
        if self.overlap is not None and (type(self.overlap) is not int or self.overlap < 0):
            raise ValueError(f"overlap is {self.overlap!r}: choose a number of tokens (0 or more), or none")
        if self.whitespace == "trailing" and self.metric != "sum":
            raise ValueError(
                f"the whitespace correction is defined for the metric sum, not for {self.metric}: "
                "choose the metric sum, or no whitespace correction"
            )

    @property
    def named_bos(self) -> str | None:
        """The start token if the policy names one, else None."""
        return None if self.bos in BOS_POLICIES else self.bos

    def to_dict(self) -> dict[str, Any]:
        """Convert to JSON types, in a fixed order; without `overlap` if texts are not cut into windows."""
        record = asdict(self)
        if self.overlap is None:
            del record["overlap"]
        return record

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ScoringPolicy:
        """Restore a policy from `to_dict`; missing fields get defaults. Raises ValueError for unknown fields."""
        unknown = sorted(set(data) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"unknown fields of a scoring policy: {', '.join(map(repr, unknown))}")
        return cls(**data)


def bos_problem(value: object) -> str:
    """Return why a value is not a valid choice of start token, or "".

    Whether a model has the token is checked when it is loaded.
    """
    choices = f"choose one of {', '.join(BOS_POLICIES)}, or a token as the vocabulary spells it, such as <|endoftext|>"
    if not isinstance(value, str):
        return f"bos is {value!r}: {choices}"
    if value not in BOS_POLICIES and value.lower() in _MISTAKES:  # in vocabularies, but not start tokens
        return f"bos is {value!r}: {choices}"
    if not value.strip() or not value.isprintable() or len(value) > MAX_BOS:
        return f"bos is {value[:MAX_BOS]!r}, which is not a token: {choices}"
    return ""
