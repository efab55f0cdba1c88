"""Numbers, yes and no, and missing values in cells."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "undefined", "-", "."})
"""Cells without a value, in lower case."""
LONGEST_NUMBER = 40
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_VERDICTS = {
    **dict.fromkeys(("1", "1.0", "yes", "y", "true", "correct", "acceptable", "grammatical", "good", "ja"), 1.0),
    **dict.fromkeys(
        ("0", "0.0", "no", "n", "false", "incorrect", "unacceptable", "ungrammatical", "bad", "nein"), 0.0
    ),
}  # fmt: skip


def is_missing(text: str) -> bool:
    """Return whether a cell has no value."""
    return text.lower() in MISSING


def number(text: str) -> float:
    """Return the number in a cell, with a decimal point or comma; NaN if there is none. Infinities are no numbers."""
    if len(text) > LONGEST_NUMBER:  # the patterns take quadratic time
        return math.nan
    if _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    elif not _PLAIN.fullmatch(text):
        return math.nan
    value = float(text)
    return value if math.isfinite(value) else math.nan


def has_decimal_comma(texts: Sequence[str]) -> bool:
    return any(len(text) <= LONGEST_NUMBER and _DECIMAL_COMMA.fullmatch(text) for text in texts)


def numbers(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the numbers in cells; NaN where there is none."""
    return np.fromiter(map(number, texts), np.float64, len(texts))


def verdict(text: str) -> float:
    """Return 1 for yes, 0 for no and their synonyms, otherwise NaN."""
    return _VERDICTS.get(text.lower(), math.nan)


def verdicts(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return 1 for yes, 0 for no, NaN for anything else."""
    return np.fromiter(map(verdict, texts), np.float64, len(texts))


def whole(text: str) -> int | None:
    """Return a whole number from a cell such as 3, 03 or 3.0, or None."""
    value = number(text)
    return int(value) if not math.isnan(value) and value.is_integer() and abs(value) < 2**31 else None
