"""Whether an interval of a mean is to be read with care: skewed values, and few of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .intervals import all_alike

FEWEST = 5
"""Of fewer values the skewness says nothing."""
MOST_SKEWNESS = 1.0
"""Normal values of 12 items exceed it 10 times in 100, of 28 items 2 times."""


def is_skewed_for_its_size(values: Sequence[float | None]) -> bool:
    """Whether there are fewer than 25 times the squared skewness (Cochran 1977), and the skewness is above 1.

    Lognormal values (σ 1) are named in 73, 92 and 91 of 100 samples of 12, 28 and 60; their bootstrap interval holds
    the mean in 85, 88 and 92 instead of 95, and misses it on the side of the long tail. It is the distribution that is
    named: a sample that lacks its long tail looks harmless and misses most. None and infinite values are left out."""
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    known = known[np.isfinite(known)]
    if known.size < FEWEST or all_alike(known):
        return False
    n, spread = known.size, known - known.mean()
    skewness = float((spread**3).mean() / (spread**2).mean() ** 1.5) * (n * (n - 1)) ** 0.5 / (n - 2)
    return bool(abs(skewness) > MOST_SKEWNESS and n < 25 * skewness**2)
