"""Tokens of a line and the classes of tokens that statistics may be limited to.

A token is one emoji of the frozen lists, or a run of letters, digits, connectors, dashes, apostrophes, "@" and "#",
or a run of other punctuation and symbols; leftmost alternative first. Everything else (blanks, combining marks,
controls) belongs to no token. The regular expression is that of LM Challenge 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING
from unicodedata import category

from gym.lmchallenge.emoji import EMOJI, has_emoji, may_hold_sequences, sequence

if TYPE_CHECKING:
    import regex

_EMOJI = "[" + "".join(sorted(EMOJI)) + "]"
_OTHERS = r"|[\p{L}\p{N}\p{Pc}\p{Pd}'@#]+|[\p{P}\p{S}]+"


@cache
def _pattern(text: str) -> regex.Pattern[str]:
    """`regex` is loaded when first needed: who only counts tokens mostly does without."""
    import regex

    return regex.compile(text)


def token() -> regex.Pattern[str]:
    """What a token is."""
    return _pattern(_EMOJI + _OTHERS)


def _spaced_token() -> regex.Pattern[str]:
    """The same with the emoji that are spelled with blanks, which few lines can have."""
    return _pattern(f"{sequence().pattern}|{_EMOJI}{_OTHERS}")


def tokens(line: str) -> Iterator[tuple[int, str]]:
    """(start, token) for every token of the line, in order; start counts code points."""
    pattern = _spaced_token() if may_hold_sequences(line) else token()
    for match in pattern.finditer(line):
        yield match.start(), match.group()


def _no_marker(text: str) -> bool:
    return not text.startswith("@")


def _has_letter(text: str) -> bool:
    r"""Whether \p{L} is in it: Python knows, but for characters that are newer than it is."""
    if any(map(str.isalpha, text)):
        return True
    return _has_unknown(text) and _pattern(r"\p{L}").search(text) is not None


def _has_other(text: str) -> bool:
    """Whether anything but letters is in it."""
    if _has_unknown(text):
        return _pattern(r"\P{L}").search(text) is not None
    return not all(map(str.isalpha, text))


def _has_unknown(text: str) -> bool:
    return not text.isascii() and any(category(char) == "Cn" for char in text)


def _alpha(text: str) -> bool:
    return _no_marker(text) and _has_letter(text)


FILTERS: dict[str, Callable[[str], bool]] = {
    "all": lambda text: True,
    "nospace": lambda text: _pattern(r"\s").search(text) is None,
    "nomarker": _no_marker,
    "alpha": _alpha,
    "alphaonly": lambda text: _no_marker(text) and not _has_other(text),
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
