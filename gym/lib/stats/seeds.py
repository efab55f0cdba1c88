"""Seeds or checkpoints of one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Spread:
    """Mean over `n` seeds, standard deviation between them (None for one), least and greatest."""

    n: int
    mean: float
    deviation: float | None
    least: float
    greatest: float


def spread(values: Sequence[float]) -> Spread | None:
    """As the ACL 2020 paper does: each seed is one observation. None without values."""
    if not values:
        return None
    array = np.array(values, dtype=np.float64)
    deviation = float(array.std(ddof=1)) if array.size > 1 else None
    return Spread(int(array.size), float(array.mean()), deviation, float(array.min()), float(array.max()))
