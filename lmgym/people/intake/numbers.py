"""Numbers, yes and no, and missing values in cells."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "undefined", "-", "."})
"""Cells without a value, in lower case."""
LONGEST_NUMBER = 40
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
_PLAIN = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_YES_NO = {
    **dict.fromkeys(("1", "1.0", "yes", "y", "true", "ja"), 1.0),
    **dict.fromkeys(("0", "0.0", "no", "n", "false", "nein"), 0.0),
}
_VERDICTS = {
    **_YES_NO,
    **dict.fromkeys(("correct", "acceptable", "grammatical", "good"), 1.0),
    **dict.fromkeys(("incorrect", "unacceptable", "ungrammatical", "bad"), 0.0),
}


def is_missing(text: str) -> bool:
    """Return whether a cell has no value."""
    return text.lower() in MISSING


def number(text: str, *, decimal_comma: bool = False) -> float:
    """Return the number in a cell, with a decimal point or comma; NaN if there is none. Infinities are no numbers.

    Args:
        decimal_comma: take 1,234 for 1.234; otherwise it is NaN, because its comma may separate thousands.
    """
    if len(text) > LONGEST_NUMBER:  # the patterns take quadratic time
        return math.nan
    if _DECIMAL_COMMA.fullmatch(text):
        if is_ambiguous(text) and not decimal_comma:
            return math.nan
        text = text.replace(",", ".")
    elif _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    elif not _PLAIN.fullmatch(text):
        return math.nan
    value = float(text)
    return value if math.isfinite(value) else math.nan


def is_ambiguous(text: str) -> bool:
    """Return whether the comma of a number may be a decimal comma or separate thousands: 1,234."""
    return len(text) <= LONGEST_NUMBER and bool(_DECIMAL_COMMA.fullmatch(text) and _THOUSANDS.fullmatch(text))


def has_decimal_comma(texts: Sequence[str]) -> bool:
    """Return whether a number has a comma that cannot separate thousands: 0,512 or 3,5."""
    return any(
        len(text) <= LONGEST_NUMBER and _DECIMAL_COMMA.fullmatch(text) and not is_ambiguous(text)
        for text in texts
    )


def numbers(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the numbers in cells of one column; NaN where there is none. A cell such as 1,234 is a number only if
    another cell has a decimal comma."""
    read = partial(number, decimal_comma=has_decimal_comma(texts))
    return np.fromiter(map(read, texts), np.float64, len(texts))


def mark(text: str) -> float:
    """Return 1 for yes or a number other than 0, 0 for no or 0, otherwise NaN."""
    value = number(text)
    return _YES_NO.get(text.lower(), math.nan) if math.isnan(value) else float(value != 0)


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
