"""What is wrong or odd in a file that somebody sent: every reason with its place, in one error. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lmgym.files.bounded import Refused

MAX_PROBLEMS = 50
MOST_PROBLEMS = 1_000
"""Reading ends there: nothing more can be learnt from a file, and each takes memory."""


PLACE = re.compile(
    r"\$\.(?:items\[(?P<item>\d+)\]|predictions\[(?P<prediction>\d+)\])"
    r"(?:\.conditions\[(?P<condition>\d+)\])?(?:\.regions\[(?P<region>\d+)\])?"
)


def in_words(where: str) -> str:
    """The place of a JSON path as people count, from 1: "item 4, condition 2, region 3". Other places stay as they
    are."""
    if found := PLACE.match(where):
        return ", ".join(f"{what} {int(n) + 1}" for what, n in found.groupdict().items() if n is not None)
    return where


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why a file cannot be read: where, what, and what to do about it.

    `where` is a JSON path (`$.items[3].conditions[1]`), a line (`line 17`) or `file`.
    """

    where: str
    message: str
    hint: str = ""
    names: str = ""
    """The place by the names of conditions and regions, where the reader knows them."""

    def __str__(self) -> str:
        hint = f" {self.hint}" if self.hint else ""
        return f"{self.where}: {self.message}.{hint}"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the reader changed or found odd, and accepted. `where` as in `Problem`."""

    where: str
    message: str
    is_warning: bool = False
    """Whether the results may be wrong for it."""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}."


class FormatError(ValueError):
    """A file that cannot be read. `problems` holds every reason found, at most `MAX_PROBLEMS` and a count."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        kept = list(problems[:MAX_PROBLEMS])
        left = len(problems) - len(kept)
        if left:
            kept.append(Problem("file", f"… and {left} more problems", "Fix the first ones and try again."))
        self.problems: list[Problem] = kept
        super().__init__("\n".join(str(problem) for problem in kept))


@dataclass(slots=True)
class Report:
    """Collects problems and notices while a file is read, so that one error can name them all."""

    problems: list[Problem] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    def problem(self, where: str, message: str, hint: str = "") -> None:
        """Note a reason to refuse the file; a repeated one is noted once. Raises `FormatError` when there are very
        many."""
        found = Problem(where, message, hint)
        if found not in self.problems[-5:]:
            self.problems.append(found)
        if len(self.problems) >= MOST_PROBLEMS:
            self.raise_problems()

    def refuse(self, refused: Refused) -> None:
        """End reading at a limit. Raises `FormatError`."""
        where = f"line {refused.line}" if refused.line else "file"
        self.problem(where, refused.message, refused.hint)
        self.raise_problems()

    def notice(self, where: str, message: str) -> None:
        """Note something odd that is accepted."""
        self.notices.append(Notice(where, message))

    def warning(self, where: str, message: str) -> None:
        """Note something that is accepted and makes the content doubtful."""
        self.notices.append(Notice(where, message, is_warning=True))

    def raise_problems(self) -> None:
        """Raise `FormatError` when there is any problem."""
        if self.problems:
            raise FormatError(self.problems)
