"""Fields of scoring policies that requests share."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from lmgym.models.engine.policy import MAX_BOS, bos_problem

HELP = (
    "auto: the model's own start token; always: the same, and models without one are refused; never: none; anything "
    "else is the token, as the vocabulary spells it, e.g. <|endoftext|>"
)


class StartTokenField(serializers.CharField):
    """`bos` of a scoring policy: a way to choose, or a token by name."""

    def __init__(self, **kwargs: Any) -> None:
        more: dict[str, Any] = {"max_length": MAX_BOS, "trim_whitespace": False, "help_text": HELP}
        super().__init__(**more | kwargs)

    def to_internal_value(self, data: Any) -> str:
        value: str = super().to_internal_value(data)
        if problem := bos_problem(value):
            raise serializers.ValidationError(f"{problem}.")
        return value
