"""By how much a prediction holds: mean margin in bits with interval and effect size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .paired import RESAMPLES, bootstrap_mean, standardised


@dataclass(frozen=True)
class MarginSummary:
    """`n` items have a margin; bits. The interval is None below two items or when all margins are equal."""

    n: int
    mean: float | None
    low: float | None
    high: float | None
    deviation: float | None
    effect: float | None


def margin_summary(
    margins: Sequence[float | None], *, confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> MarginSummary:
    """Mean margin over the items that have one, with its bootstrap interval and Hedges' g."""
    values = np.array([value for value in margins if value is not None], dtype=np.float64)
    values = values[np.isfinite(values)]
    n = int(values.size)
    if n == 0:
        return MarginSummary(0, None, None, None, None, None)
    limits = bootstrap_mean(values, confidence, resamples, seed)
    low, high = limits if limits is not None else (None, None)
    deviation = float(values.std(ddof=1)) if n > 1 else None
    return MarginSummary(n, float(values.mean()), low, high, deviation, standardised(values))
