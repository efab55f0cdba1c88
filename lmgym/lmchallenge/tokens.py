"""Tokens of a line, and token filters for statistics.

A token is an emoji from the frozen lists, or a run of letters, digits, connectors, dashes, apostrophes, "@"
and "#", or a run of other punctuation and symbols; the leftmost alternative wins. Everything else
(whitespace, combining marks, controls) belongs to no token. The regular expression is copied from LM
Challenge 4.

The emoji are the single characters with the Unicode property Emoji in Emoji 4.0 (2016), and sequences of characters
with spaces in between. The single characters exclude later additions, ASCII characters, regional indicators, and
U+1F3D8, which the list used by the reference (emoji 0.4.5) lacks. That list spells every emoji of several characters
with spaces: a thumb with a skin tone, a flag or a family is one emoji only in texts that spell it so. The lists never
change, since other lists would split texts into other tokens, and runs could no longer be compared.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import AnyStr

import regex

_RANGES = """
A9 AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 23CF 23E9-23F3 23F8-23FA 24C2 25AA-25AB
25B6 25C0 25FB-25FE 2600-2604 260E 2611 2614-2615 2618 261D 2620 2622-2623 2626 262A 262E-262F
2638-263A 2640 2642 2648-2653 2660 2663 2665-2666 2668 267B 267F 2692-2697 2699 269B-269C 26A0-26A1
26AA-26AB 26B0-26B1 26BD-26BE 26C4-26C5 26C8 26CE-26CF 26D1 26D3-26D4 26E9-26EA 26F0-26F5 26F7-26FA
26FD 2702 2705 2708-270D 270F 2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 274C 274E 2753-2755
2757 2763-2764 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D 3297 3299
1F004 1F0CF 1F170-1F171 1F17E-1F17F 1F18E 1F191-1F19A 1F201-1F202 1F21A 1F22F 1F232-1F23A
1F250-1F251 1F300-1F321 1F324-1F393 1F396-1F397 1F399-1F39B 1F39E-1F3D7 1F3D9-1F3F0 1F3F3-1F3F5
1F3F7-1F4FD 1F4FF-1F53D 1F549-1F54E 1F550-1F567 1F56F-1F570 1F573-1F57A 1F587 1F58A-1F58D 1F590
1F595-1F596 1F5A4-1F5A5 1F5A8 1F5B1-1F5B2 1F5BC 1F5C2-1F5C4 1F5D1-1F5D3 1F5DC-1F5DE 1F5E1 1F5E3
1F5E8 1F5EF 1F5F3 1F5FA-1F64F 1F680-1F6C5 1F6CB-1F6D2 1F6E0-1F6E5 1F6E9 1F6EB-1F6EC 1F6F0
1F6F3-1F6F6 1F910-1F91E 1F920-1F927 1F930 1F933-1F93A 1F93C-1F93E 1F940-1F945 1F947-1F94B
1F950-1F95E 1F980-1F991 1F9C0
"""


def _points() -> frozenset[str]:
    points: list[str] = []
    for part in _RANGES.split():
        first, _, last = part.partition("-")
        points.extend(map(chr, range(int(first, 16), int(last or first, 16) + 1)))
    return frozenset(points)


EMOJI = _points()
"""The 1087 emoji of one code point."""


@cache
def sequences() -> tuple[str, ...]:
    """Return the 1301 emoji of several characters with spaces between them, longest first."""
    with open(os.path.join(os.path.dirname(__file__), "emoji_sequences.txt"), encoding="ascii") as file:
        lines = file.read().splitlines()
    return tuple(" ".join(chr(int(code, 16)) for code in line.split()) for line in lines)


@cache
def sequence() -> re.Pattern[str]:
    """Compile a pattern for any of the sequences."""
    return re.compile("|".join(map(re.escape, sequences())))


@cache
def _spaced() -> re.Pattern[str]:
    """Compile a pattern for the characters around the spaces in emoji, to exclude most texts quickly."""
    before = {before for text in sequences() for before in text[:-2:2]}
    after = {after for text in sequences() for after in text[2::2]}
    first, second = ("".join(map(re.escape, sorted(chars))) for chars in (before, after))
    return re.compile(f"[{first}] [{second}]")


def may_hold_sequences(text: str) -> bool:
    """Return whether the text may contain a sequence: a fast check that excludes almost
    all texts without one.
    """
    return not text.isascii() and " " in text and _spaced().search(text) is not None


def has_emoji(text: str) -> bool:
    """Return whether the text contains an emoji from either list."""
    if not EMOJI.isdisjoint(text):
        return True
    return may_hold_sequences(text) and sequence().search(text) is not None


def is_emoji(text: str) -> bool:
    """Return whether the text is one emoji from either list."""
    return text in EMOJI or (may_hold_sequences(text) and sequence().fullmatch(text) is not None)


_EMOJI = "[" + "".join(sorted(EMOJI)) + "]"
_OTHERS = r"|[\p{L}\p{N}\p{Pc}\p{Pd}'@#]+|[\p{P}\p{S}]+"


TOKEN = regex.compile(_EMOJI + _OTHERS)
_LETTER, _NO_LETTER, _BLANK = (regex.compile(text) for text in (r"\p{L}", r"\P{L}", r"\s"))


@cache
def _spaced_token() -> regex.Pattern[str]:
    """Compile the token pattern that includes emoji spelled with spaces, which few lines contain."""
    return regex.compile(f"{sequence().pattern}|{TOKEN.pattern}")


def tokens(line: str) -> Iterator[tuple[int, str]]:
    """Yield (start, token) for every token in the line, in order; start counts code points."""
    pattern = _spaced_token() if may_hold_sequences(line) else TOKEN
    for match in pattern.finditer(line):
        yield match.start(), match.group()


def _no_marker(text: str) -> bool:
    return not text.startswith("@")


def _alpha(text: str) -> bool:
    return _no_marker(text) and _LETTER.search(text) is not None


def beginning_with(words: Sequence[AnyStr], prefix: AnyStr) -> range:
    """Return the range of the words with this prefix in a sorted list."""
    low = bisect_left(words, prefix)
    return range(low, bisect_right(words, prefix, low, key=lambda word: word[: len(prefix)]))


FILTERS: dict[str, Callable[[str], bool]] = {
    "all": lambda text: True,
    "nospace": lambda text: _BLANK.search(text) is None,
    "nomarker": _no_marker,
    "alpha": _alpha,
    "alphaonly": lambda text: _no_marker(text) and not _NO_LETTER.search(text),
    "alphaemoji": lambda text: _alpha(text) or has_emoji(text),
    "emoji": has_emoji,
}
"""Name -> predicate on tokens. A "marker" is a token that begins with "@"."""

FILTER_WORDS = {
    "all": "every token",
    "nospace": "tokens without a space",
    "nomarker": "tokens that do not begin with @",
    "alpha": "tokens with a letter that do not begin with @",
    "alphaonly": "tokens of letters only",
    "alphaemoji": "tokens with a letter (not beginning with @) or an emoji",
    "emoji": "tokens with an emoji",
}


@cache
def keeper(name: str) -> Callable[[str], bool]:
    """Return the filter `name` with a cache, since texts repeat words. Raises KeyError."""
    return lru_cache(maxsize=200_000)(FILTERS[name])
