"""What can be wrong with a HOCON document."""

from __future__ import annotations


class HoconError(ValueError):
    """A document that cannot be read.

    `code` is stable: syntax, include, limit, cycle, undefined, mixed, encoding. `line` and `column` count from 1;
    both are 0 where the document as a whole is meant.
    """

    def __init__(self, code: str, message: str, line: int = 0, column: int = 0, hint: str = "") -> None:
        self.code = code
        self.message = message
        self.line = line
        self.column = column
        self.hint = hint
        super().__init__(message)

    def __str__(self) -> str:
        place = f"line {self.line}, column {self.column}: " if self.line else ""
        return f"{place}{self.message}" + (f" {self.hint}" if self.hint else "")
