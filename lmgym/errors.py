"""Exceptions raised by the library. Messages say what is wrong, where, and what to do; the site shows the same text.

    FormatError      a file is not a valid suite; `problems` lists the reasons with their locations
    NotUnderstood    a FormatError that arguments of `load_suite` (columns, prediction, header, …) may resolve
    FormulaError     a formula cannot be parsed, or names something that does not exist
    BackendError     a model cannot be used, or cannot follow the policy
    InvalidArgument  an invalid argument (a ValueError)
    Interrupted      Ctrl-C during `evaluate`; `result` has the completed runs

`Result.upload` also raises `ApiError` and `NotReached` from `lmgym.client`. Saving a chart raises ValueError for an
unknown file format and ModuleNotFoundError without lm-gym[charts]; file operations raise OSError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmgym.models.backends.base import BackendError
from lmgym.suites.formulas.errors import FormulaError
from lmgym.suites.intake import NotUnderstood
from lmgym.text.problems import FormatError, InvalidArgument

if TYPE_CHECKING:
    from lmgym.results import Result

__all__ = ["BackendError", "FormatError", "FormulaError", "Interrupted", "InvalidArgument", "NotUnderstood"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `lmgym.evaluate`. `result` has the completed runs."""

    def __init__(self, result: Result) -> None:
        super().__init__(
            f"interrupted; completed runs ({len(result.runs)}) are in `result` of this exception"
        )
        self.result = result
