"""Summaries of the margins of a prediction, and of the seeds or checkpoints of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .paired import RESAMPLES, bootstrap_mean, standardised


@dataclass(frozen=True)
class MarginSummary:
    """Mean margin in bits, its interval and Hedges' g; None without margins.

    For equal margins, the interval and g are None, as is the interval for fewer than two items and g for fewer than
    three.
    """

    mean_margin: float | None = None
    margin_low: float | None = None
    margin_high: float | None = None
    effect_size_g: float | None = None


def margin_summary(
    margins: Sequence[float | None], *, confidence: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> MarginSummary:
    """Compute the mean margin over items that have one, with its bootstrap interval and Hedges' g."""
    values = np.array([value for value in margins if value is not None], dtype=np.float64)
    values = values[np.isfinite(values)]
    if not values.size:
        return MarginSummary()
    limits = bootstrap_mean(values, confidence, resamples, seed)
    low, high = limits if limits is not None else (None, None)
    return MarginSummary(float(values.mean()), low, high, standardised(values))


@dataclass(frozen=True)
class Spread:
    """Mean over `n` seeds, standard deviation between them (None for one seed), minimum and maximum."""

    n: int
    mean: float
    deviation: float | None
    least: float
    greatest: float


def spread(values: Sequence[float]) -> Spread | None:
    """Summarise the values of seeds, each as one observation, as in the ACL 2020 paper. Returns None without
    values."""
    if not values:
        return None
    array = np.array(values, dtype=np.float64)
    deviation = float(array.std(ddof=1)) if array.size > 1 else None
    return Spread(int(array.size), float(array.mean()), deviation, float(array.min()), float(array.max()))
