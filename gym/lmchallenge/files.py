"""Files that may be packed. gzip is loaded only where one is."""

from __future__ import annotations

import io
from os import PathLike
from os.path import isfile
from typing import IO, Any, cast

MAGIC = b"\x1f\x8b"


def opened(path: str | PathLike[str]) -> IO[bytes]:
    """A file for reading bytes, unpacked if it is gzip (by its first bytes, not its name)."""
    return unpacked(open(path, "rb"))


def is_plain(path: str) -> bool:
    """Whether it is a file that can be read in any order and again: no pipe, not packed."""
    if not isfile(path):
        return False
    with open(path, "rb") as stream:
        return stream.read(2) != MAGIC


def unpacked(stream: IO[bytes]) -> IO[bytes]:
    """The stream, through gzip if its first two bytes say so. Needs no seeking."""
    raw: Any = stream
    buffered: Any = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
    if buffered.peek(2)[:2] != MAGIC:
        return cast(IO[bytes], buffered)
    from gym.lmchallenge.packed import Unpacking

    return cast(IO[bytes], Unpacking(fileobj=buffered))
