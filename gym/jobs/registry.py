"""Which function handles which kind of job. Domain apps register theirs in AppConfig.ready()."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gym.jobs.errors import UnknownKind

if TYPE_CHECKING:
    from gym.jobs.context import JobContext

    Handler = Callable[[JobContext], None]

_handlers: dict[str, Handler] = {}


def handler(kind: str) -> Callable[[Handler], Handler]:
    """Register the decorated function for `kind`. A second function for the same kind is a mistake."""

    def register(function: Handler) -> Handler:
        known = _handlers.get(kind)
        if known is not None and known is not function:
            raise ValueError(f"two handlers for jobs of kind {kind!r}: {known!r} and {function!r}")
        _handlers[kind] = function
        return function

    return register


def get_handler(kind: str) -> Handler:
    try:
        return _handlers[kind]
    except KeyError:
        known = ", ".join(sorted(_handlers)) or "none"
        raise UnknownKind(f"No handler is registered for jobs of kind {kind!r} (known: {known}).") from None


def registered_kinds() -> list[str]:
    return sorted(_handlers)
