"""Format of version 4 logs (JSON lines, one per corpus line), and a writer that is safe against being killed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, TypeAlias

from lmgym.lmchallenge.errors import LogError

Row: TypeAlias = dict[str, Any]
RESULT_KEYS = {"wp": "wordPredictions", "tc": "textCompletions", "ic": "inputCorrections"}
MOST_COUNTED = 2**53
"""Counts of this size or more are rejected because a double cannot represent them all."""
PARTITIONS = ("all", "user", "line")
"""Ways to split a log for statistics."""
GAMES = {key: game for game, key in RESULT_KEYS.items()}
VERSION_5 = frozenset(("message", "token", "target"))
"""Keys of every line of an LM Challenge 5 log. Each line also has one of the keys of GAMES_5."""
GAMES_5 = {"completions": "wc", "logp": "we or ce", "results": "wr"}


def line_of(row: Row) -> str:
    """Format a row as a line with its newline: sorted keys, ASCII only. NaN and Infinity are written as the reference
    writes them, which strict JSON parsers reject.
    """
    return json.dumps(row, sort_keys=True) + "\n"


def game_of(row: Row, where: str = "the log") -> str:
    """Return "wp", "tc" or "ic", depending on which key holds the results. Raises LogError."""
    for key, game in GAMES.items():
        if key in row:
            return game
    if is_version_5(row):
        game = next(game for key, game in GAMES_5.items() if key in row)
        raise LogError(
            f"{where}: this is a log of LM Challenge 5 (game {game}), with one token per line.",
            f"A log of LM Challenge 4 is needed ({', '.join(RESULT_KEYS)}).",
        )
    shown = ", ".join(map(repr, list(row)[:8])) or "none"
    raise LogError(
        f"{where}: this is not a game log; its keys: {shown}.",
        f"A line has one of the keys {', '.join(GAMES)}.",
    )


def refuse_version_4(row: Row, where: str) -> None:
    """Raise LogError for a line of an LM Challenge 4 log."""
    game = next((game for key, game in GAMES.items() if key in row), None)
    if game and not is_version_5(row):
        raise LogError(
            f"{where}: this is a log of LM Challenge 4 (game {game}), with one line of the corpus per line.",
            f"A log of LM Challenge 5 is needed ({', '.join(GAMES_5.values())}).",
        )


def is_version_5(row: Row) -> bool:
    """Return whether the row is a line of an LM Challenge 5 log."""
    return row.keys() >= VERSION_5 and any(key in row for key in GAMES_5)


def right_before(entry: Row) -> bool:
    """Return whether a word in an ic log was typed without error. A null verbatimMatch is ignored."""
    match = entry.get("verbatimMatch")
    return bool(entry["target"] == entry["verbatim"] if match is None else match)


_BLOCK = 1 << 20


class Recorder:
    """Writer that appends rows to an uncompressed log file. `done` is the number of lines in the file, for
    `play(skip=)`.

    A partial last line, left when a writer was killed, is removed. Each line is flushed to the operating system, so
    that killing the process loses none; `sync` writes them to disk, so that they survive a power failure.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file = self.path.open("ab+")
        self.done = self._whole_lines()

    def _whole_lines(self) -> int:
        """Count lines, and truncate the file after the last newline."""
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
        """Flush everything to disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Sync and close the file."""
        self.sync()
        self._file.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
