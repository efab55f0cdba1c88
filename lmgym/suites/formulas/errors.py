"""The one exception of the formula language."""

from __future__ import annotations


def shorten(text: str, limit: int) -> str:
    """``text``, cut to ``limit`` characters with an ellipsis: for messages only."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


class FormulaError(ValueError):
    """A formula that cannot be read, or that names something that is not there.

    ``position`` is a 0-based character offset into the formula's text and ``length`` the number of
    characters concerned (at least 0; 0 at the end of the text). ``hint`` says how to mend it, or is empty.
    ``str(error)`` counts columns from 1, as people do.
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
