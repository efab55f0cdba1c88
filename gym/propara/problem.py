"""One thing that is wrong with a file, and where. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple


class Problem(NamedTuple):
    """One thing that is wrong in a file; line and column count from 1, 0 means the file as a whole."""

    file: str
    line: int
    column: int
    code: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else self.file
        if self.column:
            place += f", column {self.column}"
        return f"{place}: {self.message}" + (f" {self.hint}" if self.hint else "")

    def as_dict(self) -> dict[str, Any]:
        return self._asdict()
