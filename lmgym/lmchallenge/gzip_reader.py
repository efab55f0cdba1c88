"""Read files that may be compressed with gzip."""

from __future__ import annotations

import gzip
import io
import zlib
from os import PathLike
from typing import IO, Any, cast

from lmgym.lmchallenge.errors import PackingError

MAGIC = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
"""Magic number of zip archives, which are rejected."""


def opened(path: str | PathLike[str]) -> IO[bytes]:
    """Open a file for reading bytes, decompressing gzip (detected from the content, not the name)."""
    return unpacked(open(path, "rb"), str(path))


def unpacked(stream: IO[bytes], source: str) -> IO[bytes]:
    """Decompress a stream if it starts with the magic number of gzip. The stream need not be seekable. `source`: name
    used in messages.
    """
    raw: Any = stream
    buffered: Any = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
    if buffered.peek(2)[:2] != MAGIC:
        return cast(IO[bytes], buffered)
    return cast(IO[bytes], _GzipReader(buffered, source))


class _GzipReader(gzip.GzipFile):
    """Reader that raises PackingError for a truncated or damaged file."""

    def __init__(self, stream: Any, source: str) -> None:
        super().__init__(fileobj=stream)
        self.source = source

    def readline(self, size: int | None = -1) -> bytes:
        try:
            return super().readline(size)
        except (EOFError, OSError, zlib.error) as error:
            raise PackingError(
                f"{self.source}: the gzip data is damaged ({error}).", "Compress it again with gzip."
            ) from None
