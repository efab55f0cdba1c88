"""Files that may be packed. gzip is loaded only where one is."""

from __future__ import annotations

import io
from os import PathLike
from typing import IO, Any, cast


def opened(path: str | PathLike[str]) -> IO[bytes]:
    """A file for reading bytes, unpacked if it is gzip (by its first bytes, not its name)."""
    return unpacked(open(path, "rb"))


def unpacked(stream: IO[bytes]) -> IO[bytes]:
    """The stream, through gzip if its first two bytes say so. Needs no seeking."""
    raw: Any = stream
    buffered: Any = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
    if buffered.peek(2)[:2] != b"\x1f\x8b":
        return cast(IO[bytes], buffered)
    from gym.lmchallenge.packed import Unpacking

    return cast(IO[bytes], Unpacking(fileobj=buffered))
