"""gzip that says in words what is wrong."""

from __future__ import annotations

import gzip
import zlib

from gym.lmchallenge.errors import PackingError


class Unpacking(gzip.GzipFile):
    """A file that is cut off or damaged raises PackingError, whenever that is met."""

    def readline(self, size: int | None = -1) -> bytes:
        try:
            return super().readline(size)
        except (EOFError, OSError, zlib.error) as error:
            raise PackingError(f"The packing is damaged ({error}).", "Pack it again with gzip.") from None
