"""Map numbers to CSS classes that form a colour scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmgym.text.number_format import number_or_none

HEAT_EDGES = (1, 2, 4, 6, 8, 10, 13, 16)  # bits; nine steps
CONTRAST_EDGES = (0.5, 2, 4, 8)  # bits; four steps above and below zero
RATE_EDGES = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.975)


def heat(value: Any) -> str:
    """Return the CSS class of a surprisal in bits: h0 to h8; "" for no number."""
    number = number_or_none(value)
    return "" if number is None else f"h{_step(number, HEAT_EDGES)}"


def rate_step(value: Any) -> str:
    """Return the CSS class of a pass rate: r0 to r8; "" for no number."""
    number = number_or_none(value)
    return "" if number is None else f"r{_step(number, RATE_EDGES)}"


def _step(number: float, edges: Sequence[float]) -> int:
    return sum(number >= edge for edge in edges)
