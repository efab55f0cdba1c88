"""Tokens: whitespace, comments, strings, numbers and values of unquoted text. All functions take linear time."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import isinf
from typing import TypeAlias

Path: TypeAlias = tuple[str, ...]
Atom: TypeAlias = str | int | float | bool | None


class HoconError(ValueError):
    """Raised for a document that cannot be read.

    `code` is a stable identifier: syntax, include, limit, cycle, undefined, mixed or encoding. `line` and `column`
    count from 1; both are 0 if the error concerns the whole document.
    """

    def __init__(self, code: str, message: str, line: int = 0, column: int = 0, hint: str = "") -> None:
        self.code = code
        self.message = message
        self.line = line
        self.column = column
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}: " if self.line else ""
        return f"{place}{self.message}" + (f" {self.hint}" if self.hint else "")


# --- unquoted text, where pyhocon (used by agent servers) differs from the HOCON specification ---

NUMBER = re.compile(r"-?(?:\d*\.)?\d+(?:[eE][+-]?\d+)?")
INTEGER = re.compile(r"-?\d+")
WORD = re.compile(r"(true|false|null)(?![A-Za-z0-9_$])", re.IGNORECASE)
STRICT = re.compile(r"true|false|null|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
NO_TEXT = "<pyhocon.config_tree.NoneValue object at …>"
MAX_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Remark:
    """Remark on text that readers interpret differently. `code` is a stable identifier. "spelling": read as in pyhocon,
    against the specification; "joined-text": read according to the specification, unlike in pyhocon."""

    code: str
    path: tuple[str | int, ...]
    line: int
    column: int
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Piece:
    """One of several concatenated values, with the preceding whitespace."""

    gap: str
    raw: str
    bare: bool
    """True for unquoted text. A substitution is neither quoted nor bare, and ends a preceding number."""
    substitution: bool = False


def meaning(raw: str) -> Atom:
    """Return the value of isolated unquoted text. The case of true, false and null is ignored, and .5 is a number."""
    if WORD.fullmatch(raw):
        return WORDS[raw.casefold()]
    if not NUMBER.fullmatch(raw):
        return raw
    return int(raw) if INTEGER.fullmatch(raw) else float(raw)


def of_pieces(pieces: Sequence[Piece]) -> tuple[str, str, str] | None:
    """Return code, message and hint if readers disagree on these pieces, otherwise None."""
    if not any(piece.bare for piece in pieces):
        return None
    raw = "".join(piece.gap + piece.raw for piece in pieces)
    if len(pieces) == 1 and not isinstance(value := meaning(raw), str):
        if STRICT.fullmatch(raw):
            return None
        plain = json.dumps(value)
        message = f"Unquoted {short(raw)} means {plain} here and in neuro-san"
        message += "; the HOCON specification reads it as text."
        return "spelling", message, f'Write {plain}, or "{short(raw)}" for text.'
    theirs = _as_pyhocon_joins(pieces)
    if theirs == raw:
        return None
    message = f"neuro-san changes this unquoted text to {json.dumps(short(theirs), ensure_ascii=False)}."
    return "joined-text", message, "Put all of it in quotes."


def _as_pyhocon_joins(pieces: Sequence[Piece]) -> str:
    """Concatenate as pyhocon does: words and the last number as Python literals, without the following space."""
    out, swallows = "", False
    for number, piece in enumerate(pieces):
        out += "" if swallows else piece.gap
        rest, swallows = piece.raw, False
        if piece.bare and (word := WORD.match(rest)):
            value = WORDS[word[1].casefold()]
            out += NO_TEXT if value is None else str(value)
            rest, swallows = rest[word.end() :], True
        if rest:
            ends = number + 1 == len(pieces) or pieces[number + 1].substitution
            swallows = piece.bare and ends and NUMBER.fullmatch(rest) is not None
            out += str(meaning(rest)) if swallows else rest
    return out


def short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


# --- source text ---

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
    """Format a key for a message, shortened because it may be as long as the document."""
    return short(".".join(path))


class Source:
    """Source text with the offsets of its lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] | None = None

    def place(self, at: int) -> tuple[int, int]:
        """Return an offset's line and column, counted from 1."""
        if self._starts is None:
            self._starts = [0, *(found.end() for found in re.finditer("\n", self.text))]
        line = bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1

    def error(self, code: str, message: str, at: int, hint: str = "") -> HoconError:
        line, column = self.place(at)
        return HoconError(code, message, line, column, hint)

    def skip(self, at: int) -> int:
        """Skip whitespace, line breaks and comments."""
        match = SKIP.match(self.text, at)
        return match.end() if match else at

    def skip_blank(self, at: int) -> int:
        """Skip whitespace within the line."""
        match = BLANK.match(self.text, at)
        return match.end() if match else at

    def shown(self, at: int) -> str:
        """Describe the character at an offset, for a message."""
        if at >= len(self.text):
            return "the end of the text"
        sign = self.text[at]
        return "the end of the line" if sign == "\n" else repr(sign)

    def string(self, at: int) -> tuple[str, int]:
        """Return the quoted string that begins at `at`, and the offset after it."""
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
            return self.error("syntax", "This quoted text is not closed on the same line.", at, hint)
        message = f"Quoted text cannot contain the character U+{ord(sign):04X}."
        return self.error("syntax", message, here, "Write it as an escape, or remove it.")

    def _triple(self, at: int) -> tuple[str, int]:
        """Read to the next run of three or more quotes. The last three close the text; the others belong to it."""
        end = TRIPLE_END.search(self.text, at + 3)
        if end is None:
            raise self.error("syntax", 'This text in """three quotes""" is not closed.', at)
        value = self.text[at + 3 : end.end() - 3]
        if "\0" in value:
            raise self.error(
                "syntax", "Text cannot contain the character U+0000.", at + 3 + value.index("\0")
            )
        return value, end.end()

    def _escape(self, at: int) -> tuple[str, int]:
        sign = self.text[at + 1 : at + 2]
        if sign in ESCAPES and sign:
            return ESCAPES[sign], at + 2
        if sign != "u":
            hint = r"Use one of \" \\ \/ \b \f \n \r \t, or \u with four hexadecimal digits."
            raise self.error("syntax", f"Unknown escape \\{sign}.", at, hint)
        code = self._hex(at)
        if 0xD800 <= code < 0xDC00 and self.text.startswith("\\u", at + 6):
            low = self._hex(at + 6)
            if 0xDC00 <= low < 0xE000:
                return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), at + 12
        if 0xD800 <= code < 0xE000:
            raise self.error("syntax", f"\\u{code:04x} is half a character (a lone surrogate).", at)
        if code == 0:
            raise self.error("syntax", "Text cannot contain the character U+0000.", at)
        return chr(code), at + 6

    def _hex(self, at: int) -> int:
        digits = self.text[at + 2 : at + 6]
        if len(digits) != 4 or not all(sign in "0123456789abcdefABCDEF" for sign in digits):
            raise self.error("syntax", "Expected four hexadecimal digits after \\u.", at)
        return int(digits, 16)

    def bare(self, at: int) -> int:
        """Return the offset after the unquoted text that begins at `at`, or `at` if there is none."""
        number = NUMBER.match(self.text, at)  # first, so that the + of 1e+3 is part of the number
        here = number.end() if number else at
        match = UNQUOTED.match(self.text, here)
        return match.end() if match else here

    def atom(self, raw: str, at: int) -> Atom:
        """Return the value of isolated unquoted text."""
        if len(raw) > MAX_DIGITS and NUMBER.fullmatch(raw):
            raise self.error("limit", f"Numbers may have at most {MAX_DIGITS} characters.", at)
        value = meaning(raw)
        if isinstance(value, float) and isinf(value):
            raise self.error("limit", f"The number {raw} is too large.", at)
        return value
