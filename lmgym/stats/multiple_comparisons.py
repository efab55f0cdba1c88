"""Corrections of p values for multiple comparisons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


def holm(values: Sequence[float]) -> list[float]:
    """Adjust p values by Holm's step-down method (1979), which bounds the probability of any false positive."""
    order = sorted(range(len(values)), key=lambda k: values[k])
    adjusted = [0.0] * len(values)
    highest = 0.0
    for place, k in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - place) * values[k]))
        adjusted[k] = highest
    return adjusted


def holm_of_known(values: Sequence[float | None]) -> list[float | None]:
    """Apply `holm` to the values that are not None. None is kept and does not count as a comparison."""
    adjusted = iter(holm([value for value in values if value is not None]))
    return [None if value is None else next(adjusted) for value in values]


def benjamini_hochberg(values: Sequence[float]) -> list[float]:
    """Adjust p values by Benjamini and Hochberg (1995), which bounds the expected share of false positives."""
    if not values:
        return []
    from scipy.stats import false_discovery_control

    return [float(value) for value in false_discovery_control(list(values), method="bh")]


@dataclass(frozen=True)
class Correction:
    """A method for correcting the p values of a table together. `controls` names the quantity that it bounds."""

    key: str
    label: str
    controls: str
    adjust: Callable[[Sequence[float]], list[float]]


HOLM = Correction("holm", "Holm", "the probability of any false positive", holm)
BENJAMINI_HOCHBERG = Correction(
    "bh", "Benjamini–Hochberg", "the expected share of false positives", benjamini_hochberg
)
CORRECTIONS = {correction.key: correction for correction in (HOLM, BENJAMINI_HOCHBERG)}


def correction_of(key: str) -> Correction:
    """Return the correction with this key; Holm's for an unknown key."""
    return CORRECTIONS.get(key, HOLM)
