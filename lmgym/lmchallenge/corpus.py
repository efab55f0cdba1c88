"""Read corpora line by line: plain text, or JSON lines with userId, timestamp, text and any other keys.

Only a newline ends a line (U+2028 and a lone carriage return do not). Carriage returns at the end of a line are
dropped. A byte order mark is part of the first line, as in the reference. Corpora are never loaded as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lmgym.lmchallenge.errors import CorpusError
from lmgym.lmchallenge.gzip_reader import ZIP
from lmgym.text import listing

FORMATS = ("text", "json")
MISSING = object()


@dataclass(frozen=True)
class Line:
    """One line of a corpus.

    number               line number, from 1
    row                  keys that are copied to the log: all but `text`
    had_carriage_return  True if carriage returns were dropped from the line's end
    """

    number: int
    text: str
    row: dict[str, Any] = field(default_factory=dict)
    had_carriage_return: bool = False

    @property
    def user(self) -> Any:
        """userId, or None if missing."""
        return self.row.get("userId")

    @property
    def time(self) -> Any:
        """timestamp, or MISSING if there is none. `same_time` treats MISSING as unequal to itself, but null as equal to
        null.
        """
        return self.row.get("timestamp", MISSING)


def same_time(first: Line, second: Line) -> bool:
    """Return whether both lines belong to one batch. A batch is evaluated as a whole before it is trained on."""
    if first.time is MISSING or second.time is MISSING:
        return False
    return first.time is second.time or bool(first.time == second.time)


def same_user(first: Line, second: Line) -> bool:
    """Return whether both lines belong to one group. NaN counts as equal to itself, as in the reference."""
    return first.user is second.user or bool(first.user == second.user)


def read(stream: Iterable[bytes], form: str = "text", source: str = "the corpus") -> Iterator[Line]:
    """Yield the lines in order. Raises CorpusError naming the first line that cannot be read."""
    if form not in FORMATS:
        raise CorpusError(f"Unknown corpus format {form!r}.", f"Choose one of {', '.join(FORMATS)}.")
    for number, raw in enumerate(stream, 1):
        yield read_line(raw, number, form, source)


def read_line(raw: bytes, number: int, form: str, source: str = "the corpus") -> Line:
    """Parse one line. Raises CorpusError."""
    where = f"{source}, line {number}"
    whole = _decode(raw, where)
    text = whole.rstrip("\r\n")
    had_carriage_return = "\r" in whole[len(text) :]
    if form == "text":
        return Line(number, text, had_carriage_return=had_carriage_return)
    return Line(number, *_json_line(text, where), had_carriage_return)


def _decode(raw: bytes, where: str) -> str:
    if raw.startswith(ZIP):
        raise CorpusError(
            f"{where}: this is a zip archive.", "Extract the text file. It may be compressed with gzip."
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{where}: byte {error.start + 1} (0x{raw[error.start]:02x}) is not UTF-8.",
            "Save the file as UTF-8.",
        ) from None


def _json_line(text: str, where: str) -> tuple[str, dict[str, Any]]:
    """Parse a JSON line; return its text and its remaining keys."""
    try:
        row = json.loads(text)
    except ValueError as error:
        hint = 'Each line must be an object such as {"userId": "a", "timestamp": 1, "text": "Hello"}.'
        if text.startswith("\ufeff"):
            hint = "The file begins with a byte order mark. Save it without one."
        elif not text.strip():
            hint = 'Empty lines are not allowed; write an empty text as {"text": ""}.'
        raise CorpusError(f"{where}: this is not JSON ({error}).", hint) from None
    except RecursionError:
        raise CorpusError(f"{where}: the JSON is nested too deeply.") from None
    if not isinstance(row, dict):
        raise CorpusError(f"{where}: this is {_kind(row)}, not an object.", 'Write {"text": "…"}.')
    if "text" not in row:
        raise CorpusError(
            f'{where}: the key "text" is missing.',
            f"Keys of this line: {listing(list(map(repr, row))) or 'none'}.",
        )
    words = row.pop("text")
    if not isinstance(words, str):
        raise CorpusError(f'{where}: "text" is {_kind(words)}, not a string.')
    return words, row


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def sniff(head: bytes) -> str:
    """Return "json" if the first line is an object with a key `text`, else "text"."""
    first = head.split(b"\n", 1)[0]
    try:
        row = json.loads(first.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return "text"
    return "json" if isinstance(row, dict) and "text" in row else "text"


def vocabulary(stream: Iterable[bytes], source: str = "the vocabulary") -> list[str]:
    """Read a vocabulary, one word per line, in order and without duplicates. Only line endings are stripped.

    Unlike in a corpus, a lone carriage return ends a line, as in the reference. Raises CorpusError.
    """
    words: dict[str, None] = {}
    for number, raw in enumerate(stream, 1):
        text = _decode(raw, f"{source}, line {number}").rstrip("\r\n")
        words.update(dict.fromkeys(text.split("\r")))
    return list(words)
