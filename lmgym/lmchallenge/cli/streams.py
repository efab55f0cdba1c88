"""Standard streams of the commands, and the type of functions that load a model as a player."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any, TextIO, TypeAlias

if TYPE_CHECKING:
    from lmgym.lmchallenge.play.player import Player

ModelPlayer: TypeAlias = "Callable[[str, Mapping[str, Any]], Player]"


class Streams:
    """Standard input and output as bytes, and standard error as text."""

    def __init__(
        self, source: IO[bytes] | None = None, out: IO[bytes] | None = None, err: TextIO | None = None
    ) -> None:
        self.source = source or sys.stdin.buffer
        self.out = out or sys.stdout.buffer
        self.err = err or sys.stderr

    @property
    def is_terminal(self) -> bool:
        """Whether standard output is a terminal."""
        return self.out.isatty()

    @property
    def usual(self) -> str:
        """Default output format."""
        return "table" if self.is_terminal else "json"

    def print_line(self, text: str) -> None:
        """Write one line of output."""
        self.out.write(text.encode("utf-8", "replace") + b"\n")
