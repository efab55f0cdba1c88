"""A log file that survives a killed writer: a half-written last line is cut off, and the next writer appends."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from gym.lmchallenge.core.logs import line_of

_BLOCK = 1 << 20


class Recorder:
    """Appends to a plain log. `done` is the number of lines that are there, which is what `play(skip=)` wants.

    A line that was cut off when the last writer was killed is removed. Lines are handed to the system one by one
    (a killed process loses none); `sync` hands them to the disk (a power cut loses none before).
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file = self.path.open("ab+")
        self.done = self._whole_lines()

    def _whole_lines(self) -> int:
        """Count lines and cut what follows the last newline."""
        self._file.seek(0)
        count = size = end = 0
        while block := self._file.read(_BLOCK):
            count += block.count(b"\n")
            last = block.rfind(b"\n")
            end = size + last + 1 if last >= 0 else end
            size += len(block)
        if end < size:
            self._file.truncate(end)
        self._file.seek(0, os.SEEK_END)
        return count

    def add(self, row: dict[str, Any]) -> None:
        """Write the next line."""
        self._file.write(line_of(row).encode("ascii"))
        self._file.flush()
        self.done += 1

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Sync and close."""
        self.sync()
        self._file.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
