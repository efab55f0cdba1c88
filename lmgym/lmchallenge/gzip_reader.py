"""Files that may be packed with gzip."""

from __future__ import annotations

import gzip
import io
import zlib
from os import PathLike
from typing import IO, Any, cast

from lmgym.lmchallenge.errors import PackingError

MAGIC = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
"""What a zip archive begins with, which is not unpacked here."""


def opened(path: str | PathLike[str]) -> IO[bytes]:
    """A file for reading bytes, unpacked if it is gzip (by its first bytes, not its name)."""
    return unpacked(open(path, "rb"), str(path))


def unpacked(stream: IO[bytes], source: str) -> IO[bytes]:
    """The stream, through gzip if its first two bytes say so. Needs no seeking. `source`: its name in messages."""
    raw: Any = stream
    buffered: Any = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
    if buffered.peek(2)[:2] != MAGIC:
        return cast(IO[bytes], buffered)
    return cast(IO[bytes], _GzipReader(buffered, source))


class _GzipReader(gzip.GzipFile):
    """Raises PackingError where the file is cut off or damaged."""

    def __init__(self, stream: Any, source: str) -> None:
        super().__init__(fileobj=stream)
        self.source = source

    def readline(self, size: int | None = -1) -> bytes:
        try:
            return super().readline(size)
        except (EOFError, OSError, zlib.error) as error:
            raise PackingError(
                f"{self.source}: the packing is damaged ({error}).", "Pack it again with gzip."
            ) from None
