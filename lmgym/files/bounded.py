"""Bounded reading of untrusted files: nothing is read, split or decoded beyond a limit.

Uploaded tables, logs and JSON pass through here; archives, workbooks and Parquet files have limits of their own
(archives.py, workbooks.py, parquet.py). `opened` and `lines` read streams, which may be compressed with gzip; `check`
guards text already in memory before it is split into lines and cells; `load` parses JSON.
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
"""Bytes unpacked and checked at a time."""
MAX_MEMBERS = 100_000
"""Limit on members of a gzip file, because even empty members take time. The log of a long game has tens of
thousands."""
_MAGIC = b"\x1f\x8b"
_WBITS = 31


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on one file, after decompression; None = bounded elsewhere.

    Attributes:
        cells: separators in a table.
        columns: columns of a table, counted in its first line.
        values: commas and opening brackets of JSON, an upper bound on its values; counted over the whole text by `load`
            and per line by `lines`.
        seconds: CPU time of this thread from the first byte, including the processing of lines by the caller.
    """

    bytes: int | None = None
    lines: int | None = None
    line_bytes: int | None = None
    cells: int | None = None
    columns: int | None = None
    values: int | None = None
    seconds: float | None = None


class Refused(ValueError):
    """A file exceeds a limit, is damaged, or has a form that is not supported.

    Attributes:
        message: a clause that names the problem, in lower case and without a full stop.
        hint: a sentence; may be empty.
        line: line number from 1; 0 for the whole file.
    """

    def __init__(self, message: str, hint: str = "", line: int = 0) -> None:
        sentence = f"{f'line {line}: ' if line else ''}{message}. {hint}".strip()
        super().__init__(sentence[0].upper() + sentence[1:])
        self.message = message
        self.hint = hint
        self.line = line


class TooDeep(Refused):
    """JSON is nested more deeply than Python's parser allows."""

    def __init__(self) -> None:
        super().__init__("the JSON is nested too deeply", "Remove the nested part.")


SPLIT = "Split it into several files."


def opened(
    stream: IO[bytes], limits: Limits, clock: Callable[[], float] = time.thread_time
) -> io.BufferedReader:
    """Open a stream for bounded reading, decompressing gzip (recognised by its first bytes).

    The stream need not be seekable, and memory use is constant. A read raises Refused at the block that exceeds the
    limit on bytes, lines, line_bytes or seconds; other limits are ignored.
    """
    return io.BufferedReader(_Counted(stream, limits, clock), BLOCK)


def lines(stream: IO[bytes], limits: Limits) -> Iterator[bytes]:
    """Yield the lines of `opened`, each with its newline; only LF ends a line.

    Raises:
        Refused: a limit is exceeded, including the number of values in one line.
    """
    for number, raw in enumerate(opened(stream, limits), 1):
        _check_values(raw, limits, number)
        yield raw


def measure(stream: IO[bytes], limits: Limits) -> None:
    """Read a seekable stream to its end and rewind it, to refuse a file that is too large before it is processed.

    Raises:
        Refused: a limit is exceeded.
    """
    source = opened(stream, limits)
    while source.read(BLOCK):
        pass
    stream.seek(0)


def check(text: str | bytes, limits: Limits, separators: str = "") -> None:
    """Check that a text has few enough lines and cells.

    Args:
        separators: characters that may separate cells; the most frequent one counts.

    Raises:
        Refused: too many lines (ended by LF, CRLF or CR) or cells.
    """
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
    """Raise Refused for a first line with too many columns, before it is split."""
    if limits.columns is not None and max(map(header.count, separators)) >= limits.columns:
        raise Refused(f"more than {limits.columns:,} columns", "Leave out unused columns.")


def load(text: str | bytes, limits: Limits, **options: Any) -> Any:
    """Parse JSON text.

    Args:
        options: passed to `json.loads`.

    Raises:
        Refused: too many values; raised before any is created.
        TooDeep: nested too deeply.
        json.JSONDecodeError: not JSON.
    """
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


_SEVERAL = "Each line is one text: write it as several lines."


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


class _Counted(io.RawIOBase):
    """Raw stream that decompresses another stream and enforces its limits, block by block."""

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
        """Decompress the next bytes of one or more gzip members, optionally followed by zeros; b"" at the end."""
        unpacker = cast(Any, self._unpacker)
        while True:
            data = self._data or self._stream.read(BLOCK)
            if unpacker.eof:
                data = data.lstrip(b"\0")
            if not data and unpacker.eof and not (data := self._after_zeros()):
                return b""
            if not data:
                raise self._damaged("unexpected end of file")
            if unpacker.eof:
                self._members += 1
                if self._members >= MAX_MEMBERS:
                    raise Refused(
                        f"more than {MAX_MEMBERS:,} gzip members", "Compress it as a single gzip member."
                    )
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
        return Refused(f"the compressed data is damaged ({why})", "Compress it again with gzip.")

    def _count(self, piece: bytes) -> None:
        limits = self._limits
        if limits.seconds is not None and self._clock() - self._start > limits.seconds:
            raise Refused(f"reading the file takes more than {limits.seconds:,.0f} seconds", SPLIT)
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
        """Check the length of each line, including its newline."""
        *whole, tail = piece.split(b"\n")
        for number, line in enumerate(whole, self._lines + 1):
            if self._line_bytes + len(line) + 1 > most:
                raise self._long(number, most)
            self._line_bytes = 0
        self._line_bytes += len(tail)
        if self._line_bytes > most:
            raise self._long(self._lines + len(whole) + 1, most)

    def _long(self, line: int, most: int) -> Refused:
        return Refused(
            f"more than {_megabytes(most)}", "Each line is one text: end each text with a line break.", line
        )
