"""What can be wrong with files, and with one process. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """One thing that is wrong in a file; line and column count from 1, 0 means the file as a whole."""

    file: str
    line: int
    column: int
    code: str
    message: str
    hint: str = ""

    @property
    def place(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{place}, column {self.column}" if self.column else place

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" + (f" {self.hint}" if self.hint else "")


class ProParaError(ValueError):
    """Files that cannot be scored. `str()` and `exit_code` are what the reference's command would give."""

    exit_code = 2

    def __init__(self, message: str, problems: list[Problem] | None = None) -> None:
        super().__init__(message)
        self.problems = problems or []


class Corrupted(ProParaError):
    """The reference has a message for this, on standard output, and exits with 2."""


class Crash(ProParaError):
    """The reference ends with a traceback and exit code 1; we explain the error on standard error."""

    exit_code = 1


class ProcessFailure(ArithmeticError):
    """One process has no score under the reference's arithmetic."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def corrupted(file: str, details: str, line: int = 0) -> Corrupted:
    """The reference's one-line message."""
    if line:
        return Corrupted(f"Corrupted action file {file} on line {line} ({details})")
    return Corrupted(f"Corrupted or empty action file {file} ({details})")
