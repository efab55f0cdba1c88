"""Many comparisons at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


def holm(values: Sequence[float]) -> list[float]:
    """Holm's (1979) step-down adjusted p values, in the order given: the chance of any false alarm stays below them."""
    order = sorted(range(len(values)), key=lambda k: values[k])
    adjusted = [0.0] * len(values)
    highest = 0.0
    for place, k in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - place) * values[k]))
        adjusted[k] = highest
    return adjusted


def holm_of_known(values: Sequence[float | None]) -> list[float | None]:
    """The same for a table in which some rows have no p: they keep None and do not count."""
    adjusted = iter(holm([value for value in values if value is not None]))
    return [None if value is None else next(adjusted) for value in values]


def benjamini_hochberg(values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's (1995) adjusted p values: the expected share of false alarms stays below them."""
    if not values:
        return []
    from scipy.stats import false_discovery_control

    return [float(value) for value in false_discovery_control(list(values), method="bh")]


@dataclass(frozen=True)
class Correction:
    """A way to correct p values of one table together. `controls`: the error rate that it bounds."""

    key: str
    label: str
    controls: str
    adjust: Callable[[Sequence[float]], list[float]]


HOLM = Correction("holm", "Holm", "the family-wise error rate", holm)
BENJAMINI_HOCHBERG = Correction("bh", "Benjamini–Hochberg", "the false discovery rate", benjamini_hochberg)
CORRECTIONS = {one.key: one for one in (HOLM, BENJAMINI_HOCHBERG)}


def correction_of(key: str) -> Correction:
    """The correction of this name; Holm's for any other word."""
    return CORRECTIONS.get(key, HOLM)
