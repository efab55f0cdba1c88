"""Equivalence test: two pass rates on the same items differ by less than a given bound."""

from __future__ import annotations

import math


def equivalence_p(only_first: int, only_second: int, n_items: int, bound: float) -> float:
    """Test whether the paired difference between two pass rates lies inside (−bound, bound).

    Two one-sided tests (TOST, Schuirmann 1987), each a score test of Tango (1998). If the true difference equals a
    bound, p is below .05 in at most 6.9% of samples of 20 items, 6.3% of samples of 28 or 38 items, and 5.8% of samples
    of 60 or more (all samples enumerated, bounds of 5 to 30 points).

    Args:
        only_first, only_second: numbers of items that only the first or only the second got right.
        n_items: number of common items.
        bound: between 0 and 1, exclusive.

    Returns:
        The larger p of the two tests.

    Raises:
        ValueError: no items, more differing items than items, or a bound outside (0, 1).
    """
    if not 0 < bound < 1:
        raise ValueError(f"The equivalence bound must be between 0 and 1, not {bound:g}.")
    if n_items < 1 or only_first < 0 or only_second < 0 or only_first + only_second > n_items:
        raise ValueError(
            f"Counts of {only_first} and {only_second} differing items are impossible for {n_items} items."
        )
    above = _score(only_first, only_second, n_items, -bound)
    below = -_score(only_first, only_second, n_items, bound)
    return 0.5 * math.erfc(min(above, below) / math.sqrt(2))  # the normal tail


def _score(only_first: int, only_second: int, n: int, difference: float) -> float:
    """Compute Tango's statistic for the hypothesis (second − first) = `difference`; approximately standard normal."""
    a = 2 * n
    b = -only_second - only_first + (a - only_second + only_first) * difference
    c = -only_first * difference * (1 - difference)
    first_alone = (math.sqrt(b * b - 4 * a * c) - b) / (2 * a)  # probability by restricted likelihood
    variance = n * (2 * first_alone + difference * (1 - difference))
    return (only_second - only_first - n * difference) / math.sqrt(variance)
