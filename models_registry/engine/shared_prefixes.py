"""Give the same token after the same prefix the same bits, so that equal sentences tie exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from models_registry.engine.scores import ScoringFailure, TokenScores

Scored = TypeVar("Scored", TokenScores, TokenScores | ScoringFailure)


def share_prefix_scores(scores: Sequence[Scored]) -> list[Scored]:
    """Give the same token after the same prefix of ids the value that came first; the input is not changed.

    Batches of different shapes give values that differ in the last fp32 digits, which would decide
    comparisons that should be ties. An unscored token stays unscored and never hides a later value;
    failures pass through. All scores must come from one left-to-right model (`ModelFacts.left_to_right`) and one
    policy: a value that depends on what follows must not be shared. Cost: one dictionary entry
    per distinct prefix.
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
