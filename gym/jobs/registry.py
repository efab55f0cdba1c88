"""Which function handles which kind of job. Domain apps register theirs in AppConfig.ready()."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gym.jobs import conf
from gym.jobs.errors import UnknownKind

if TYPE_CHECKING:
    from gym.jobs.context import JobContext

    Handler = Callable[[JobContext], None]

_handlers: dict[str, Handler] = {}
_limits: dict[str, float | Callable[[], float]] = {}
_only_when_idle: set[str] = set()
_break_process: list[Callable[[BaseException], bool]] = []


def handler(
    kind: str, *, seconds: float | Callable[[], float] | None = None, only_when_idle: bool = False
) -> Callable[[Handler], Handler]:
    """Register the decorated function for `kind`. A second function for the same kind is a mistake.

    `seconds`: how long one attempt may take (a function where a setting says it); without it GYM_JOB_SECONDS.
    `only_when_idle`: such jobs are claimed when nothing else waits, and count for nobody's turn."""

    def register(function: Handler) -> Handler:
        known = _handlers.get(kind)
        if known is not None and known is not function:
            raise ValueError(f"two handlers for jobs of kind {kind!r}: {known!r} and {function!r}")
        _handlers[kind] = function
        if seconds is not None:
            _limits[kind] = seconds
        if only_when_idle:
            _only_when_idle.add(kind)
        return function

    return register


def breaks_process(says: Callable[[BaseException], bool]) -> None:
    """Register a function that knows, of an error, whether the process that met it can do such work no more."""
    if says not in _break_process:
        _break_process.append(says)


def broke_process(error: BaseException | None) -> bool:
    """Whether this error, or one that it came from, leaves a process that can do such work no more."""
    seen: set[int] = set()  # an error raised again from one that it caused makes the chain a circle
    while error is not None and id(error) not in seen:
        if any(says(error) for says in _break_process):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def get_handler(kind: str) -> Handler:
    try:
        return _handlers[kind]
    except KeyError:
        known = ", ".join(sorted(_handlers)) or "none"
        raise UnknownKind(f"No handler is registered for jobs of kind {kind!r} (known: {known}).") from None


def time_limit(kind: str) -> float:
    """Seconds that one attempt at a job of this kind may take."""
    limit = _limits.get(kind, conf.get("GYM_JOB_SECONDS"))
    return float(limit() if callable(limit) else limit)


def kinds_when_idle() -> list[str]:
    """The kinds of jobs that are claimed only when nothing else waits."""
    return sorted(_only_when_idle)


def registered_kinds() -> list[str]:
    return sorted(_handlers)
