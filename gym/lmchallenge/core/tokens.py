"""Tokens of a line and the classes of tokens that statistics may be limited to.

A token is one emoji of the frozen lists, or a run of letters, digits, connectors, dashes, apostrophes, "@" and "#",
or a run of other punctuation and symbols; leftmost alternative first. Everything else (blanks, combining marks,
controls) belongs to no token. The regular expression is that of LM Challenge 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache

import regex

from gym.lmchallenge.core.emoji import EMOJI, has_emoji, may_hold_sequences, sequence

_EMOJI = "[" + "".join(sorted(EMOJI)) + "]"
_OTHERS = r"|[\p{L}\p{N}\p{Pc}\p{Pd}'@#]+|[\p{P}\p{S}]+"


TOKEN = regex.compile(_EMOJI + _OTHERS)
_LETTER, _NO_LETTER, _BLANK = (regex.compile(text) for text in (r"\p{L}", r"\P{L}", r"\s"))


@cache
def _spaced_token() -> regex.Pattern[str]:
    """The same with the emoji that are spelled with blanks, which few lines can have."""
    return regex.compile(f"{sequence().pattern}|{TOKEN.pattern}")


def tokens(line: str) -> Iterator[tuple[int, str]]:
    """(start, token) for every token of the line, in order; start counts code points."""
    pattern = _spaced_token() if may_hold_sequences(line) else TOKEN
    for match in pattern.finditer(line):
        yield match.start(), match.group()


def _no_marker(text: str) -> bool:
    return not text.startswith("@")


def _alpha(text: str) -> bool:
    return _no_marker(text) and _LETTER.search(text) is not None


FILTERS: dict[str, Callable[[str], bool]] = {
    "all": lambda text: True,
    "nospace": lambda text: _BLANK.search(text) is None,
    "nomarker": _no_marker,
    "alpha": _alpha,
    "alphaonly": lambda text: _no_marker(text) and not _NO_LETTER.search(text),
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


@cache
def keeper(name: str) -> Callable[[str], bool]:
    """The filter `name`, remembering what it answered (texts repeat their words). Raises KeyError."""
    return lru_cache(maxsize=200_000)(FILTERS[name])
