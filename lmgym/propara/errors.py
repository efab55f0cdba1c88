"""Problems in files, and failures of single processes."""

from __future__ import annotations

from typing import NamedTuple


class Problem(NamedTuple):
    """A problem in a file. Line and column count from 1; 0 means the whole file or line."""

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
    """Raised for files that cannot be scored. `str()` and `exit_code` are the reference's message and exit code."""

    exit_code = 2

    def __init__(self, message: str, problems: list[Problem] | None = None) -> None:
        super().__init__(message)
        self.problems = problems or []


class Corrupted(ProParaError):
    """Raised for an error that the reference reports on standard output with exit code 2."""


class Crash(ProParaError):
    """Raised where the reference ends with a traceback and exit code 1. The message is for standard error."""

    exit_code = 1


class ProcessFailure(ArithmeticError):
    """Raised for a process whose score the reference's arithmetic cannot compute."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def corrupted(file: str, details: str, line: int = 0) -> Corrupted:
    """Build the error with the reference's one-line message."""
    if line:
        return Corrupted(f"Corrupted action file {file} on line {line} ({details})")
    return Corrupted(f"Corrupted or empty action file {file} ({details})")
