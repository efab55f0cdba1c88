"""Tokens: blanks, comments, strings, numbers. Each function takes time linear in what it consumes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from math import isinf

from gym.agents.core.hocon.nodes import Atom, HoconError
from gym.agents.core.hocon.spelling import NUMBER, meaning, short

BLANK = re.compile(r"[^\S\n\ufeff]*(?:\ufeff+[^\S\n\ufeff]*)*")
SKIP = re.compile(r"(?:[\s\ufeff]+|#[^\n]*|//[^\n]*)*")
UNQUOTED = re.compile(r"(?:[^\s\ufeff$\"{}\[\]:=,+#`^?!@*&\\/]|/(?!/))+")
PLAIN = re.compile(r'"([^"\\\x00-\x1f\ud800-\udfff]*)"')
CHUNK = re.compile(r'[^"\\\x00-\x08\x0a-\x1f\ud800-\udfff]*')
TRIPLE_END = re.compile(r'"{3,}')
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
RESERVED = frozenset('$"{}[]:=,+#`^?!@*&\\')
MAX_DIGITS = 300


def named(path: Sequence[str]) -> str:
    """A key as a message names it: it may be as long as the document."""
    return short(".".join(path))


class Source:
    """The text, and where its lines begin."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] | None = None

    def place(self, at: int) -> tuple[int, int]:
        """Line and column, from 1."""
        if self._starts is None:
            self._starts = [0, *(found.end() for found in re.finditer("\n", self.text))]
        line = bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1

    def error(self, code: str, message: str, at: int, hint: str = "") -> HoconError:
        line, column = self.place(at)
        return HoconError(code, message, line, column, hint)

    def skip(self, at: int) -> int:
        """Past white space, line ends and comments."""
        found = SKIP.match(self.text, at)
        return found.end() if found else at

    def skip_blank(self, at: int) -> int:
        """Past white space of this line."""
        found = BLANK.match(self.text, at)
        return found.end() if found else at

    def shown(self, at: int) -> str:
        """The character at an offset, as a message names it."""
        if at >= len(self.text):
            return "the end of the text"
        sign = self.text[at]
        return "the end of the line" if sign == "\n" else repr(sign)

    def string(self, at: int) -> tuple[str, int]:
        """The quoted string that begins here, and the offset behind it."""
        text = self.text
        if text.startswith('"""', at):
            return self._triple(at)
        if plain := PLAIN.match(text, at):
            return plain.group(1), plain.end()
        parts: list[str] = []
        here = at + 1
        while True:
            if chunk := CHUNK.match(text, here):
                parts.append(chunk.group())
                here = chunk.end()
            sign = text[here : here + 1]
            if sign == '"':
                return "".join(parts), here + 1
            if sign != "\\":
                raise self._unfinished(sign, at, here)
            part, here = self._escape(here)
            parts.append(part)

    def _unfinished(self, sign: str, at: int, here: int) -> HoconError:
        if sign in ("", "\n"):
            hint = 'Close it with ", or use """three quotes""" for text of several lines.'
            return self.error("syntax", "This quoted text does not end on its line.", at, hint)
        what = f"the character U+{ord(sign):04X}"
        return self.error(
            "syntax", f"Quoted text cannot hold {what}.", here, "Write it as an escape, or leave it out."
        )

    def _triple(self, at: int) -> tuple[str, int]:
        """Everything up to the last three of the next run of at least three quotes; what is extra belongs to it."""
        end = TRIPLE_END.search(self.text, at + 3)
        if end is None:
            raise self.error("syntax", 'This text in """three quotes""" does not end.', at)
        value = self.text[at + 3 : end.end() - 3]
        if "\0" in value:
            raise self.error("syntax", "Text cannot hold the character U+0000.", at + 3 + value.index("\0"))
        return value, end.end()

    def _escape(self, at: int) -> tuple[str, int]:
        sign = self.text[at + 1 : at + 2]
        if sign in ESCAPES and sign:
            return ESCAPES[sign], at + 2
        if sign != "u":
            hint = r"Known are \" \\ \/ \b \f \n \r \t and \u with four hexadecimal digits."
            raise self.error("syntax", f"There is no escape \\{sign}.", at, hint)
        code = self._hex(at)
        if 0xD800 <= code < 0xDC00 and self.text.startswith("\\u", at + 6):
            low = self._hex(at + 6)
            if 0xDC00 <= low < 0xE000:
                return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), at + 12
        if 0xD800 <= code < 0xE000:
            raise self.error("syntax", f"\\u{code:04x} is half a character (a lone surrogate).", at)
        if code == 0:
            raise self.error("syntax", "Text cannot hold the character U+0000.", at)
        return chr(code), at + 6

    def _hex(self, at: int) -> int:
        digits = self.text[at + 2 : at + 6]
        if len(digits) != 4 or not all(sign in "0123456789abcdefABCDEF" for sign in digits):
            raise self.error("syntax", "After \\u four hexadecimal digits are needed.", at)
        return int(digits, 16)

    def bare(self, at: int) -> int:
        """The offset behind the unquoted text that begins here; `at` itself where none does."""
        number = NUMBER.match(self.text, at)  # so that the + of 1e+3 belongs to the number
        here = number.end() if number else at
        found = UNQUOTED.match(self.text, here)
        return found.end() if found else here

    def atom(self, raw: str, at: int) -> Atom:
        """What an unquoted text that stands alone means."""
        if len(raw) > MAX_DIGITS and NUMBER.fullmatch(raw):
            raise self.error("limit", f"Numbers may have at most {MAX_DIGITS} characters.", at)
        value = meaning(raw)
        if isinstance(value, float) and isinf(value):
            raise self.error("limit", f"The number {raw} is too large.", at)
        return value
