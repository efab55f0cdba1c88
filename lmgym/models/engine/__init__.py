"""The surprisal engine: policies, planning, execution. Importing this package does not import torch.

`execute` needs torch and is imported by the backends that use it, never from here.
"""

from lmgym.models.engine.plan import chunks, unique_texts
from lmgym.models.engine.policy import ScoringPolicy
from lmgym.models.engine.scores import (
    ERROR_BITS,
    ScoringFailure,
    TokenError,
    TokenScores,
    share_prefix_scores,
)

ENGINE_VERSION = "5"
"""Incremented whenever the same model, text and policy may give different numbers (beyond fp32 noise)."""

__all__ = [
    "ENGINE_VERSION",
    "ERROR_BITS",
    "ScoringFailure",
    "ScoringPolicy",
    "TokenError",
    "TokenScores",
    "chunks",
    "share_prefix_scores",
    "unique_texts",
]
