"""Problems and notices about an uploaded file, each with its location; one error reports all of them."""

from __future__ import annotations

import copyreg
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lmgym.files.bounded import Refused

MAX_PROBLEMS = 50
MOST_PROBLEMS = 1_000
"""Number of problems at which parsing stops: more would not help the user, and each takes memory."""


PLACE = re.compile(
    r"\$\.(?:items\[(?P<item>\d+)\]|predictions\[(?P<prediction>\d+)\])"
    r"(?:\.conditions\[(?P<condition>\d+)\])?(?:\.regions\[(?P<region>\d+)\])?"
)


def in_words(where: str) -> str:
    """Format a location in words: `$.items[3].conditions[1]` is "item 4, condition 2", counted from 1.

    Other JSON paths lose their `$`, the whole document is "", and query parameters lose their `?`.
    """
    if match := PLACE.match(where):
        return ", ".join(f"{what} {int(n) + 1}" for what, n in match.groupdict().items() if n is not None)
    return re.sub(r"\A(\$\.?|\?)", "", where)


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why a file cannot be read.

    Attributes:
        where: a JSON path ("$.items[3].conditions[1]"), a line ("line 17"), a cell ("row 3, column B"), a query
            parameter ("?name"), or the whole input ("file", "sheet", "suite").
        message: a clause in lower case without a full stop.
        hint: what to do, as a sentence.
        names: the location with names of conditions and regions, if known.
    """

    where: str
    message: str
    hint: str = ""
    names: str = ""

    def __str__(self) -> str:
        hint = f" {self.hint}" if self.hint else ""
        return f"{_prefix(self.names or in_words(self.where))}{self.message}.{hint}"


@dataclass(frozen=True, slots=True)
class Notice:
    """A change or oddity that was accepted.

    Attributes:
        where: as in `Problem`.
        message: a clause in lower case without a full stop.
        is_warning: results may be wrong because of it.
    """

    where: str
    message: str
    is_warning: bool = False

    def __str__(self) -> str:
        return f"{_prefix(in_words(self.where))}{self.message}."


def _prefix(place: str) -> str:
    return f"{place}: " if place else ""


class InvalidArgument(ValueError):
    """An argument has a value that cannot be used."""


class FormatError(ValueError):
    """A file cannot be read.

    Attributes:
        problems: the first `MAX_PROBLEMS` reasons, and the number of further ones.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        shown = list(problems[:MAX_PROBLEMS])
        n_more = len(problems) - len(shown)
        if n_more:
            shown.append(
                Problem(
                    "file",
                    f"… and {n_more} more {'problem' if n_more == 1 else 'problems'}",
                    "Fix the first ones and try again.",
                )
            )
        self.problems: list[Problem] = shown
        super().__init__(shown)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without calling `__init__`, which takes other arguments in subclasses."""
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]  # not in typeshed


@dataclass(slots=True)
class Report:
    """Problems and notices collected while a file is read, so that one error can report all of them."""

    problems: list[Problem] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    def problem(self, where: str, message: str, hint: str = "") -> None:
        """Add a problem, unless it repeats a recent one. Raises FormatError at `MOST_PROBLEMS`."""
        problem = Problem(where, message, hint)
        if problem not in self.problems[-5:]:
            self.problems.append(problem)
        if len(self.problems) >= MOST_PROBLEMS:
            self.raise_problems()

    def refuse(self, refused: Refused) -> None:
        """Stop reading at a limit. Raises FormatError."""
        where = f"line {refused.line}" if refused.line else "file"
        self.problem(where, refused.message, refused.hint)
        self.raise_problems()

    def notice(self, where: str, message: str) -> None:
        """Add a notice about something that is accepted."""
        self.notices.append(Notice(where, message))

    def warning(self, where: str, message: str) -> None:
        """Add a notice that results may be wrong."""
        self.notices.append(Notice(where, message, is_warning=True))

    def raise_problems(self) -> None:
        """Raise FormatError if there are problems."""
        if self.problems:
            raise FormatError(self.problems)
