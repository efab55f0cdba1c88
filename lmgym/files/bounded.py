"""Reading files of people one does not know: nothing is read, cut or decoded past a limit. Pure.

Everything that takes uploads reads through here: `opened` and `lines` for streams, which may be packed with gzip;
`check` for text that is held already, before it is cut into lines and cells; `load` for JSON.
"""

from __future__ import annotations

import io
import json
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, cast

BLOCK = 65_536
"""Bytes that are unpacked and looked at together."""
MAX_MEMBERS = 100_000
"""Of a gzip file: each costs time, and may hold nothing. The log of a long game has tens of thousands."""
_MAGIC = b"\x1f\x8b"
_WBITS = 31


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may hold, unpacked; None where something else bounds it.

    `cells`: separators of a table, `columns`: those of its first line. `values`: commas and opening brackets of JSON,
    which are as many as there are values or more; of the whole text for `load`, of one line for `lines`. `seconds`: of
    this thread's computing from the first byte on, what is done with the lines included.
    """

    bytes: int | None = None
    lines: int | None = None
    line_bytes: int | None = None
    cells: int | None = None
    columns: int | None = None
    values: int | None = None
    seconds: float | None = None


class Refused(ValueError):
    """A file that holds more than is read, or whose packing is damaged. `message` is a clause that names the limit and
    begins in lower case, `hint` a sentence; `line` counts from 1, and is 0 where the file is meant."""

    def __init__(self, message: str, hint: str = "", line: int = 0) -> None:
        sentence = f"{f'line {line}: ' if line else ''}{message}. {hint}".strip()
        super().__init__(sentence[0].upper() + sentence[1:])
        self.message = message
        self.hint = hint
        self.line = line


class TooDeep(Refused):
    """JSON that is nested deeper than Python reads."""

    def __init__(self) -> None:
        super().__init__("the JSON is nested too deeply", "Remove the nested part.")


SPLIT = "Split it into several files."


def opened(
    stream: IO[bytes], limits: Limits, clock: Callable[[], float] = time.thread_time
) -> io.BufferedReader:
    """The stream for reading, unpacked if it is gzip (by its first bytes). Needs no seeking and holds little. Every way
    of reading it raises Refused at the block that goes past a limit."""
    return io.BufferedReader(_Counted(stream, limits, clock), BLOCK)


def lines(stream: IO[bytes], limits: Limits) -> Iterator[bytes]:
    """The lines of `opened` with their ends; only a newline ends one. Raises Refused, also for a line of too many
    values."""
    for number, raw in enumerate(opened(stream, limits), 1):
        _check_values(raw, limits, number)
        yield raw


def measure(stream: IO[bytes], limits: Limits) -> None:
    """Read a stream to its end and keep nothing, then go back to its beginning: raises Refused before anything is made
    of a file that is too large."""
    source = opened(stream, limits)
    while source.read(BLOCK):
        pass
    stream.seek(0)


def check(text: str | bytes, limits: Limits, separators: str = "") -> None:
    """Raise Refused for text of too many lines (LF, CRLF or CR) or, counting any one of `separators`, cells."""
    source: Any = text
    spell = str if isinstance(text, str) else str.encode
    if limits.lines is not None:
        returns = source.count(spell("\r"))
        breaks = source.count(spell("\n")) + returns - (source.count(spell("\r\n")) if returns else 0)
        if breaks > limits.lines:
            raise Refused(f"more than {limits.lines:,} lines", SPLIT)
    cells = max((source.count(spell(separator)) for separator in separators), default=0)
    if limits.cells is not None and cells > limits.cells:
        raise Refused(f"more than {limits.cells:,} cells", SPLIT)


def check_columns(header: str, limits: Limits, separators: str) -> None:
    """Raise Refused for a first line of too many columns, before it is cut."""
    if limits.columns is not None and max(map(header.count, separators)) >= limits.columns:
        raise Refused(f"more than {limits.columns:,} columns", "Leave out those that are not read.")


def load(text: str | bytes, limits: Limits, **options: Any) -> Any:
    """The value of a JSON text; `options` as of json.loads, which raises what it raises. Raises Refused for too many
    values, before any is made, and TooDeep."""
    _check_values(text, limits)
    try:
        return json.loads(text, **options)
    except RecursionError:
        raise TooDeep from None


def _check_values(text: str | bytes, limits: Limits, line: int = 0) -> None:
    if limits.values is None or len(text) <= limits.values:
        return
    source: Any = text
    marks: Any = ",[{" if isinstance(text, str) else (b",", b"[", b"{")
    if sum(source.count(mark) for mark in marks) > limits.values:
        raise Refused(f"more than {limits.values:,} values", SPLIT if not line else _SEVERAL, line)


_SEVERAL = "One line holds one text: write it as several lines."


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


class _Counted(io.RawIOBase):
    """Unpacks and counts, block by block."""

    def __init__(self, stream: IO[bytes], limits: Limits, clock: Callable[[], float]) -> None:
        super().__init__()
        self._stream = stream
        self._limits = limits
        self._clock = clock
        self._start = clock()
        self._data = stream.read(BLOCK)
        self._unpacker = zlib.decompressobj(_WBITS) if self._data.startswith(_MAGIC) else None
        self._members = self._bytes = self._lines = self._line_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        size = min(len(into), BLOCK)
        piece = self._plain(size) if self._unpacker is None else self._unpacked(size)
        self._count(piece)
        into[: len(piece)] = piece
        return len(piece)

    def _plain(self, size: int) -> bytes:
        data = self._data or self._stream.read(size)
        piece, self._data = data[:size], data[size:]
        return piece

    def _unpacked(self, size: int) -> bytes:
        """The next bytes of a file of one or more gzip members, which zeros may follow; nothing at its end."""
        unpacker = cast(Any, self._unpacker)
        while True:
            data = self._data or self._stream.read(BLOCK)
            if unpacker.eof:
                data = data.lstrip(b"\0")
            if not data and unpacker.eof and not (data := self._after_zeros()):
                return b""
            if not data:
                raise self._damaged("it ends too early")
            if unpacker.eof:
                self._members += 1
                if self._members >= MAX_MEMBERS:
                    raise Refused(f"more than {MAX_MEMBERS:,} packed parts", "Pack it in one go.")
                self._unpacker = unpacker = zlib.decompressobj(_WBITS)
            try:
                piece: bytes = unpacker.decompress(data, size)
            except zlib.error as error:
                raise self._damaged(str(error)) from None
            self._data = unpacker.unconsumed_tail or unpacker.unused_data
            if piece:
                return piece

    def _after_zeros(self) -> bytes:
        while data := self._stream.read(BLOCK):
            if data := data.lstrip(b"\0"):
                return data
        return b""

    def _damaged(self, why: str) -> Refused:
        return Refused(f"the packing is damaged ({why})", "Pack it again with gzip.")

    def _count(self, piece: bytes) -> None:
        limits = self._limits
        if limits.seconds is not None and self._clock() - self._start > limits.seconds:
            raise Refused(f"reading it takes more than {limits.seconds:,.0f} seconds", SPLIT)
        if not piece:
            return
        self._bytes += len(piece)
        if limits.bytes is not None and self._bytes > limits.bytes:
            raise Refused(f"more than {_megabytes(limits.bytes)}", SPLIT)
        ends = piece.count(b"\n")
        if limits.lines is not None and self._lines + ends + (not piece.endswith(b"\n")) > limits.lines:
            raise Refused(f"more than {limits.lines:,} lines", SPLIT)
        if limits.line_bytes is not None:
            self._measure(piece, limits.line_bytes)
        self._lines += ends

    def _measure(self, piece: bytes, most: int) -> None:
        """The length of each line, its newline included."""
        *whole, rest = piece.split(b"\n")
        for number, line in enumerate(whole, self._lines + 1):
            if self._line_bytes + len(line) + 1 > most:
                raise self._long(number, most)
            self._line_bytes = 0
        self._line_bytes += len(rest)
        if self._line_bytes > most:
            raise self._long(self._lines + len(whole) + 1, most)

    def _long(self, line: int, most: int) -> Refused:
        return Refused(
            f"more than {_megabytes(most)}", "One line holds one text: put a line break behind each.", line
        )
