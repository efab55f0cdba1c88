"""What the library raises. Messages are those that the site shows: what is wrong, where, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmgym.models.backends.base import BackendError
from lmgym.suites.formulas.errors import FormulaError
from lmgym.text.problems import FormatError

if TYPE_CHECKING:
    from lmgym.results import Result

__all__ = ["BackendError", "FormatError", "FormulaError", "Interrupted", "InvalidArgument"]


class InvalidArgument(ValueError):
    """An argument that cannot be followed."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `lmgym.evaluate`. `result` holds the runs that were done."""

    def __init__(self, result: Result) -> None:
        super().__init__(f"interrupted after {len(result.runs)} runs; they are in .result of this exception")
        self.result = result
