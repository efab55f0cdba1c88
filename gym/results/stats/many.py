"""Many comparisons at once."""

from __future__ import annotations

from collections.abc import Sequence


def holm(values: Sequence[float]) -> list[float]:
    """Holm's (1979) step-down adjusted p values, in the order given: the chance of any false alarm stays below them."""
    order = sorted(range(len(values)), key=lambda k: values[k])
    adjusted = [0.0] * len(values)
    highest = 0.0
    for place, k in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - place) * values[k]))
        adjusted[k] = highest
    return adjusted


def benjamini_hochberg(values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's (1995) adjusted p values: the expected share of false alarms stays below them."""
    if not values:
        return []
    from scipy.stats import false_discovery_control

    return [float(value) for value in false_discovery_control(list(values), method="bh")]
