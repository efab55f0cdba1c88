"""How far a value may be off, numerically. Pure.

The bounds are for the error of one token against the same weights in float64, as measured on GPT-2-small
shapes and the tiny models of the tests, doubled. fp32: largest difference 2.4e-4 nats = 3.5e-4 bits (packed
kernels), one sentence at a time 1.9e-4 bits. Half types have no useful bound; theirs says how wrong
they were seen to be, and what is seen of a model at its loading can only raise it (`error_bound`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

ERROR_BITS: Mapping[str, float] = {"float64": 1e-9, "float32": 5e-4, "float16": 0.1, "bfloat16": 0.5}
"""Bound on one token's error in bits, by dtype."""
HALF_TYPES = ("float16", "bfloat16")


def error_bound(dtype: str, *, half: float = 0.0, ways: float = 0.0) -> float:
    """Bound in bits on one token's error for one loaded model.

    half  largest difference seen between the model in its half type and in float32; it counts twice, because only
          a few tokens were looked at
    ways  largest difference seen between the ways to the same value that the runner takes
    """
    return max(ERROR_BITS[dtype], 2 * half, ways)


def margin_bound(per_token: float, tokens: int) -> float:
    """Bound in bits on the error of a sum (or difference) over `tokens` token values.

    Errors of different tokens are hardly related, so they add up like a random walk; the factor 2 covers
    what relation there is. A margin below this is too close to call.
    """
    return per_token * (2 * math.sqrt(tokens) if tokens > 1 else 1.0)
