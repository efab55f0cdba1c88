"""Exception of the formula language."""

from __future__ import annotations


def shorten(text: str, limit: int) -> str:
    """Shorten text for a message to ``limit`` characters, with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


class FormulaError(ValueError):
    """A formula cannot be parsed, or names a region or condition that does not exist.

    Attributes:
        message: a sentence.
        position: character offset in the formula, from 0; ``str(error)`` counts columns from 1.
        hint: how to fix it, or "".
        length: number of characters concerned; 0 at the end of the text.
    """

    def __init__(self, message: str, position: int = 0, hint: str = "", length: int = 1) -> None:
        super().__init__(message, position, hint, length)
        self.message = message
        self.position = position
        self.hint = hint
        self.length = length

    def __str__(self) -> str:
        hint = f" {self.hint}" if self.hint else ""
        return f"Column {self.position + 1}: {self.message}{hint}"
