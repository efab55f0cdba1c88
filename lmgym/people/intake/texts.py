"""Compare texts of a file with the suite's, and say what differs if it is only punctuation or spaces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from lmgym.suites.regions import ATTACHED
from lmgym.text import BLANKS, common_prefix, quoted

_QUOTES = str.maketrans("‘’‚‛“”„‟«»–—", '\'\'\'\'""""""--')
_BEFORE_ATTACHED = re.compile(rf"[{BLANKS}]+(?=[{re.escape(ATTACHED)}])")
_NAMES = {
    ".": "a full stop",
    "...": "three full stops",
    "…": "an ellipsis (…)",
    "?": "a question mark",
    "!": "an exclamation mark",
    ",": "a comma",
    ";": "a semicolon",
    ":": "a colon",
    "-": "a hyphen or dash",
    '"': "a quotation mark",
    "'": "an apostrophe",
    " ": "a space",
    "": "nothing",
}
LONGEST = 60
"""Number of characters of a text in a message."""


def plain(text: str) -> str:
    """Normalise a text for comparison: case, quotation marks, dashes, blanks, blanks before punctuation, and Unicode
    form. Punctuation counts: a comma can be the difference between two conditions."""
    folded = unicodedata.normalize("NFC", text).translate(_QUOTES).casefold()
    return _BEFORE_ATTACHED.sub("", " ".join(folded.split()))


def letters(text: str) -> str:
    """Return a normalised text without punctuation, symbols, spaces and invisible characters."""
    return "".join(sign for sign in plain(text) if unicodedata.category(sign)[0] not in "PSZC")


def difference(in_file: str, in_suite: str, noun: str = "sentence") -> str:
    """Say what differs between two texts with the same letters; "" if they are equal or have other letters.

    Args:
        noun: what the texts are.
    """
    first, second = plain(in_file), plain(in_suite)
    if first == second or letters(first) != letters(second):
        return ""
    start, end = _shared(first, second)
    mine, theirs = (text[start : len(text) - end] for text in (first, second))
    if letters(mine):
        return "they differ in punctuation or spaces in several places"
    if end == 0 and mine and theirs:
        return f"the {noun} in the suite ends with {_named(theirs)}, in the file with {_named(mine)}"
    if end == 0 and not mine:
        return f"the {noun} in the suite ends with {_named(theirs)}, in the file it does not"
    if end == 0 and not theirs:
        return f"the {noun} in the file ends with {_named(mine)}, in the suite it does not"
    place = f"after {quoted(first[max(0, start - 20) : start])}" if start else "at the beginning"
    return f"{place}, the suite has {_named(theirs)}, the file {_named(mine)}"


def nearest(text: str, candidates: Iterable[str]) -> str:
    """Return the candidate whose differing part is the shortest."""

    def n_differing(candidate: str) -> int:
        first, second = plain(text), plain(candidate)
        return len(first) + len(second) - 2 * sum(_shared(first, second))

    return min(candidates, key=n_differing)


def _shared(first: str, second: str) -> tuple[int, int]:
    """Return the numbers of characters that two texts share at the beginning and, after these, at the end."""
    start = common_prefix(first, second)
    return start, common_prefix(first[start:][::-1], second[start:][::-1])


def _named(signs: str) -> str:
    return _NAMES.get(signs) or _NAMES.get(signs.strip()) or quoted(signs)


def shortened(text: str) -> str:
    """Quote a text with its beginning and end, because texts of a suite often differ only at the end."""
    half = LONGEST // 2
    return quoted(text if len(text) <= LONGEST else f"{text[:half]} … {text[-half:]}")
