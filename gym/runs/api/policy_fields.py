"""Serializer fields for scoring policies."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from lmgym.models.engine.policy import MAX_BOS, bos_problem

HELP = (
    "auto: the model's start token, if it has one; always: refuse models without one; never: none; any other value is "
    "the token itself, as spelled in the vocabulary, such as <|endoftext|>"
)


class StartTokenField(serializers.CharField):
    """Field for `bos` in a scoring policy: auto, always, never, or a token."""

    def __init__(self, **kwargs: Any) -> None:
        more: dict[str, Any] = {"max_length": MAX_BOS, "trim_whitespace": False, "help_text": HELP}
        super().__init__(**more | kwargs)

    def to_internal_value(self, data: Any) -> str:
        value: str = super().to_internal_value(data)
        if problem := bos_problem(value):
            raise serializers.ValidationError(f"{problem}.")
        return value
