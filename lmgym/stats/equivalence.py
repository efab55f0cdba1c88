"""Whether two pass rates on the same items differ by less than a bound that the reader states."""

from __future__ import annotations

import math


def equivalence_p(only_first: int, only_second: int, n_items: int, bound: float) -> float:
    """p of the two one-sided tests (TOST, Schuirmann 1987) that the paired difference of two pass rates lies inside
    (−bound, bound): the larger of both, each by the score test of Tango (1998).

    Args:
        only_first, only_second: items that only this one got right.
        n_items: items that both have.
        bound: 0..1, not included.

    Where the true difference is at a bound, p is below .05 in at most 6.9 of 100 samples of 20 items, 6.3 of 28 and 38,
    and 5.8 of 60 and more (all samples enumerated, bounds of 5 to 30 points).

    Raises:
        ValueError: no items, more differing items than items, or a bound outside (0, 1).
    """
    if not 0 < bound < 1:
        raise ValueError(f"An equivalence bound lies between 0 and 1, not at {bound:g}.")
    if n_items < 1 or only_first < 0 or only_second < 0 or only_first + only_second > n_items:
        raise ValueError(f"{only_first} and {only_second} of {n_items} items cannot differ.")
    above = _score(only_first, only_second, n_items, -bound)
    below = -_score(only_first, only_second, n_items, bound)
    return 0.5 * math.erfc(min(above, below) / math.sqrt(2))  # the normal tail


def _score(only_first: int, only_second: int, n: int, difference: float) -> float:
    """Tango's statistic of the hypothesis that (second − first) is `difference`: about standard normal."""
    a = 2 * n
    b = -only_second - only_first + (a - only_second + only_first) * difference
    c = -only_first * difference * (1 - difference)
    first_alone = (math.sqrt(b * b - 4 * a * c) - b) / (2 * a)  # its probability, by restricted likelihood
    variance = n * (2 * first_alone + difference * (1 - difference))
    return (only_second - only_first - n * difference) / math.sqrt(variance)
