"""How texts share forward passes, and models whose values are not those of a text alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from lmgym.models.engine.plan import chunks

BATCHINGS = {
    "padded": "",
    "equal": "Scored in batches of equal-length texts: with padding, the values of probe tokens {problem}.",
    "alone": "Scored one text at a time: in batches, the values of probe tokens {problem}.",
}
"""Modes of sharing forward passes, fastest first, each with a note for the model's page. Models that mix positions
without a mask (FNet's Fourier transform, Funnel's pooling) read padding as text."""


REFUSED_BITS = 0.01
"""Difference above which full precision does not explain it by rounding."""


class Unscorable(Exception):
    """A model whose values would be wrong in every mode. The message is a sentence that names the model."""


def name_of(model: object) -> str:
    """Name a transformers model in messages: its model type and class."""
    kind = getattr(getattr(model, "config", None), "model_type", "")
    return f"{kind} ({type(model).__name__})" if kind else type(model).__name__


class Choice(NamedTuple):
    """A mode of BATCHINGS, its largest difference from single texts in bits, and why no faster one is used, or ""."""

    batching: str
    gap: float
    note: str


def choose_batching(name: str, gap_of: Callable[[str], float], allowed: float) -> Choice:
    """Choose the fastest mode in which probe tokens have the values of single texts.

    Args:
        name: of the model, for the message.
        gap_of: function that returns the largest difference in a mode, in bits; infinite if it fails.
        allowed: tolerated difference in bits. If no mode keeps to it, the best one is used, up to REFUSED_BITS.

    Raises:
        Unscorable: no mode gives these values.
    """
    gaps, problem = dict[str, float](), ""
    for batching, note in BATCHINGS.items():
        gaps[batching] = gap = gap_of(batching)
        if gap <= allowed:
            return Choice(batching, gap, note.format(problem=problem))
        finite = math.isfinite(gap)
        problem = f"differ by {gap:.2g} bits from the unoptimised model's" if finite else "cannot be computed"
    best = min(gaps, key=lambda batching: gaps[batching])
    if gaps[best] <= REFUSED_BITS:
        return Choice(best, gaps[best], f"In every mode of batching, the values of probe tokens {problem}.")
    raise Unscorable(
        f"The values of {name} are not reproducible: even one text at a time, those of probe tokens {problem}."
    )


def batches(lengths: Sequence[int], budget: int, batching: str) -> list[list[int]]:
    """Group indices of `lengths` into forward passes, shortest first.

    Args:
        budget: positions per pass, including padding.
        batching: one of BATCHINGS.
    """
    if batching == "padded":
        return chunks(lengths, budget)
    groups = []
    for length in sorted(set(lengths)):
        same = [at for at, other in enumerate(lengths) if other == length]
        size = 1 if batching == "alone" else max(1, budget // length)
        groups += [same[start : start + size] for start in range(0, len(same), size)]
    return groups
