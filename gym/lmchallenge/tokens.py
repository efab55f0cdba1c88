"""Tokens of a line and the classes of tokens that statistics may be limited to.

A token is one emoji of the frozen list, or a run of letters, digits, connectors, dashes, apostrophes, "@" and "#",
or a run of other punctuation and symbols; leftmost alternative first. Everything else (blanks, combining marks,
controls) belongs to no token. The regular expression is that of LM Challenge 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import regex

from gym.lmchallenge.emoji import EMOJI

_EMOJI = "[" + "".join(sorted(EMOJI)) + "]"
TOKEN = regex.compile(_EMOJI + r"|[\p{L}\p{N}\p{Pc}\p{Pd}'@#]+|[\p{P}\p{S}]+")
_BLANK = regex.compile(r"\s")
_LETTER = regex.compile(r"\p{L}")
_NO_LETTER = regex.compile(r"\P{L}")


def tokens(line: str) -> Iterator[tuple[int, str]]:
    """(start, token) for every token of the line, in order; start counts code points."""
    for match in TOKEN.finditer(line):
        yield match.start(), match.group()


def has_emoji(text: str) -> bool:
    """Whether a character of the frozen list is in it."""
    return not EMOJI.isdisjoint(text)


def _no_marker(text: str) -> bool:
    return not text.startswith("@")


def _alpha(text: str) -> bool:
    return _no_marker(text) and _LETTER.search(text) is not None


FILTERS: dict[str, Callable[[str], bool]] = {
    "all": lambda text: True,
    "nospace": lambda text: _BLANK.search(text) is None,
    "nomarker": _no_marker,
    "alpha": _alpha,
    "alphaonly": lambda text: _no_marker(text) and _NO_LETTER.search(text) is None,
    "alphaemoji": lambda text: _alpha(text) or has_emoji(text),
    "emoji": has_emoji,
}
"""Name -> whether a token counts. "Marker" is any token that begins with "@"."""

FILTER_WORDS = {
    "all": "every token",
    "nospace": "tokens without a blank",
    "nomarker": "tokens that do not begin with @",
    "alpha": "tokens with a letter that do not begin with @",
    "alphaonly": "tokens of letters only",
    "alphaemoji": "tokens with a letter (not beginning with @) or an emoji",
    "emoji": "tokens with an emoji",
}


def keeper(name: str) -> Callable[[str], bool]:
    """The filter `name`, remembering what it answered (texts repeat their words). Raises KeyError."""
    return lru_cache(maxsize=200_000)(FILTERS[name])
