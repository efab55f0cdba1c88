"""Kinds of jobs and their scheduling options. Imports no handlers, so that contexts and scheduling can import it.

`gym.jobs.handlers` registers a kind together with its handler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gym.jobs import conf
from gym.jobs.errors import UnknownKind


@dataclass(frozen=True)
class JobKind:
    """Options of a kind. `seconds`: limit of one attempt, or a function that returns it; None:
    GYM_JOB_SECONDS. `only_when_idle`: jobs are claimed only when nothing else waits, and do not use up their
    owner's turn."""

    name: str
    seconds: float | Callable[[], float] | None = None
    only_when_idle: bool = False


_kinds: dict[str, JobKind] = {}


def register(kind: JobKind) -> None:
    """Add a kind, or replace the options of one with the same name."""
    _kinds[kind.name] = kind


def require(name: str) -> None:
    """Raise UnknownKind unless the kind is registered."""
    if name not in _kinds:
        known = ", ".join(sorted(_kinds)) or "none"
        raise UnknownKind(f"No handler is registered for jobs of kind {name!r} (known: {known}).")


def time_limit(name: str) -> float:
    """Return the seconds that one attempt at a job of this kind may take."""
    kind = _kinds.get(name)
    limit = kind.seconds if kind is not None and kind.seconds is not None else conf.get("GYM_JOB_SECONDS")
    return float(limit() if callable(limit) else limit)


def kinds_when_idle() -> list[str]:
    """Return the names of kinds that are claimed only when nothing else waits."""
    return sorted(name for name, kind in _kinds.items() if kind.only_when_idle)
