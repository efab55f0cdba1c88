"""Format numbers for pages and messages. gym/templatetags/gym.py registers most of them as filters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

MISSING = "–"
ROUNDING = 1e-9
"""Percentages closer than this to 0 or 100 are 0 or 100."""


def number_or_none(value: Any) -> float | None:
    """Convert to a finite float; None for anything else."""
    if value is None or value == "" or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def bits(value: Any, places: int = 2) -> str:
    """Format bits: 12.345 -> 12.35; no value -> –"""
    number = number_or_none(value)
    if number is None:
        return MISSING
    text = f"{number:.{places}f}"
    return text[1:] if text.startswith("-") and not float(text) else text.replace("-", "−")


def score(value: Any, places: int = 3) -> str:
    """Format a precision, hit@k or similar score with printf's rounding, as common evaluators do.

    0.5545 -> 0.554, because the stored float is slightly less; floatformat rounds the decimal digits to 0.555.
    """
    return bits(value, places)


def signed(value: Any, places: int = 2) -> str:
    """Format a margin: +1.20, −0.35, 0.00"""
    number = number_or_none(value)
    if number is None:
        return MISSING
    text = f"{number:+.{places}f}"
    return text[1:] if not float(text) else text.replace("-", "−")


def surprisal(value: Any, places: int = 2) -> str:
    """Convert a natural log-probability to surprisal in bits: -0.6931 -> 1.00"""
    number = number_or_none(value)
    return MISSING if number is None else bits(-number / math.log(2), places)


MOST_PLACES = 6


def adding_up(left: float, right: float) -> tuple[str, str, str]:
    """Format two numbers and their difference with enough places (two or more) that the printed numbers add up.

    (2.004, 1.006) -> 2.004, 1.006, +0.998.
    """
    places = next(
        (
            k
            for k in range(2, MOST_PLACES)
            if abs(round(left, k) - round(right, k) - round(left - right, k)) < 0.5 * 10**-k
            and (left == right or round(left - right, k))
        ),
        MOST_PLACES,
    )
    return bits(left, places), bits(right, places), signed(round(left, places) - round(right, places), places)


def percent(value: Any, places: int = 1) -> str:
    """Format a rate as a percentage: 0.8333 -> 83.3%. Only 0 and 1 look like it: 0.9996 -> >99.9%, 0.0004 -> <0.1%"""
    number = number_or_none(value)
    if number is None:
        return MISSING
    text, step = f"{100 * number:.{places}f}", 10**-places
    if float(text) == 0 and 100 * number > ROUNDING:
        return f"<{step:g}%"
    if float(text) == 100 and 100 * number < 100 - ROUNDING:
        return f">{100 - step:g}%"
    return f"{text}%"


def whole_percent(value: Any) -> str:
    """Format a rate as a percentage without sign and decimals, for narrow cells: 0.8333 -> 83, 0.996 -> >99"""
    return percent(value, 0).removesuffix("%")


def grouped(value: Any) -> str:
    """Format a number without decimals, with thousands separators: 50257 -> 50,257"""
    number = number_or_none(value)
    return MISSING if number is None else f"{int(number):,}"


def compact(value: Any) -> str:
    """Abbreviate a large number: 124439808 -> 124M"""
    number = number_or_none(value)
    if number is None:
        return MISSING
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            scaled = number / size
            return f"{scaled:.1f}{unit}" if scaled < 10 else f"{scaled:.0f}{unit}"
    return f"{number:.0f}"


def duration(seconds: Any) -> str:
    """Format a duration: < 0.1 s, 0.4 s, 12 s, 3 min 20 s, 2 h 5 min"""
    number = number_or_none(seconds)
    if number is None:
        return MISSING
    if 0 <= number < 0.05:
        return "< 0.1 s"
    if number < 9.95:
        return f"{max(number, 0):.1f} s"
    whole = round(number)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    minutes = whole % 3600 // 60
    return f"{whole // 3600} h {minutes} min" if minutes else f"{whole // 3600} h"


def eta(seconds: Any) -> str:
    """Format the remaining time, with the precision of an estimate; empty if unknown."""
    number = number_or_none(seconds)
    if number is None:
        return ""
    if number < 8:
        return "a few seconds left"
    if number < 90:
        return f"about {max(10, round(number / 10) * 10)} s left"
    if number < 5400:
        return f"about {round(number / 60)} min left"
    return f"about {number / 3600:.1f} h left"


def quarter(value: Any) -> int:
    """Round progress for screen readers down to 0, 25, 50, 75 or 100, so that not every step is announced."""
    return int((number_or_none(value) or 0) // 25 * 25)


def plain_value(value: Any) -> str:
    """Format any value: booleans as yes or no, integers grouped, lists and mappings joined, no value as –."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == "":
        return MISSING
    if isinstance(value, int):
        return f"{value:,}"  # float would lose digits of large integers
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {plain_value(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(plain_value(inner) for inner in value) or MISSING
    return str(value)


def points(value: Any, places: int = 1) -> str:
    """Format a difference between rates in percentage points: 0.125 -> +12.5"""
    number = number_or_none(value)
    return MISSING if number is None else signed(100 * number, places)


def format_interval(low: Any, high: Any, form: Callable[[Any], str]) -> str:
    """Format the limits of an interval: 0.125, 0.5 and `percent` -> 12.5% to 50.0%; no limits -> –

    With a word, because a dash before a sign could be read as a minus.
    """
    if number_or_none(low) is None or number_or_none(high) is None:
        return MISSING
    return f"{form(low)} to {form(high)}"


def p_value(value: Any) -> str:
    """Format a p value: 0.0312 -> 0.031; below 0.001 as < 0.001"""
    number = number_or_none(value)
    if number is None:
        return MISSING
    return "< 0.001" if number < 0.001 else f"{number:.3f}"


def format_named_p(name: str, value: Any) -> str:
    """Format a named p value: p = 0.031; p < 0.001"""
    text = p_value(value)
    return f"{name} {text}" if text.startswith("<") else f"{name} = {text}"
