"""Registry of handlers, the functions that do the work of jobs. Apps register theirs in AppConfig.ready()."""

from __future__ import annotations

from collections.abc import Callable

from gym.jobs import kinds
from gym.jobs.context import JobContext
from gym.jobs.kinds import JobKind

Handler = Callable[[JobContext], None]

_handlers: dict[str, Handler] = {}
_break_process: list[Callable[[BaseException], bool]] = []


def handler(
    kind: str, *, seconds: float | Callable[[], float] | None = None, only_when_idle: bool = False
) -> Callable[[Handler], Handler]:
    """Register the decorated function for `kind`. Options: see `gym.jobs.kinds.JobKind`.

    Raises ValueError if the kind already has a different handler.
    """

    def register(function: Handler) -> Handler:
        known = _handlers.get(kind)
        if known is not None and known is not function:
            raise ValueError(f"two handlers for jobs of kind {kind!r}: {known!r} and {function!r}")
        _handlers[kind] = function
        kinds.register(JobKind(kind, seconds, only_when_idle))
        return function

    return register


def get_handler(kind: str) -> Handler:
    """Return the handler of a kind. Raises UnknownKind."""
    kinds.require(kind)
    return _handlers[kind]


def breaks_process(predicate: Callable[[BaseException], bool]) -> None:
    """Register a predicate for errors that make this process unusable, such as a lost GPU."""
    if predicate not in _break_process:
        _break_process.append(predicate)


def broke_process(error: BaseException | None) -> bool:
    """Return True if this error, or one that caused it, makes the process unusable."""
    seen: set[int] = set()  # an error raised again from one that it caused makes the chain circular
    while error is not None and id(error) not in seen:
        if any(predicate(error) for predicate in _break_process):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False
