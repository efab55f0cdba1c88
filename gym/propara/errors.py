"""What can be wrong with files, and with one process. Pure; imports nothing, as the command line loads it first."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gym.propara.problem import Problem


class ProParaError(ValueError):
    """Files that cannot be scored. `str()` and `exit_code` are what the reference's command would give."""

    exit_code = 2

    def __init__(self, message: str, problems: list[Problem] | None = None) -> None:
        super().__init__(message)
        self.problems = problems or []


class Corrupted(ProParaError):
    """The reference has a message for this, on standard output, and exits with 2."""


class Crash(ProParaError):
    """The reference dies here with a traceback and exits with 1; we say on standard error what is wrong."""

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
