"""Exceptions raised by the library. Messages are the ones the site shows: what is wrong, where, and how to fix it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmgym.models.backends.base import BackendError
from lmgym.suites.formulas.errors import FormulaError
from lmgym.text.problems import FormatError

if TYPE_CHECKING:
    from lmgym.results import Result

__all__ = ["BackendError", "FormatError", "FormulaError", "Interrupted", "InvalidArgument"]


class InvalidArgument(ValueError):
    """An argument has a value that cannot be used."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `lmgym.evaluate`. `result` has the completed runs."""

    def __init__(self, result: Result) -> None:
        super().__init__(
            f"interrupted after {len(result.runs)} runs, kept in the attribute result of this exception"
        )
        self.result = result
