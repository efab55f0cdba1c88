"""Fields of the current request or job, added to every log record and written by `GYM_LOG_FORMAT=json`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_fields: ContextVar[dict[str, Any] | None] = ContextVar("log_fields", default=None)


@contextmanager
def fields(**values: Any) -> Iterator[None]:
    """Add these fields to the records that this thread logs within the block."""
    token = _fields.set(values)
    try:
        yield
    finally:
        _fields.reset(token)


def add(**values: Any) -> None:
    """Add fields to the innermost block of `fields`; nothing outside of one."""
    if (current := _fields.get()) is not None:
        current.update(values)


def current() -> dict[str, Any]:
    """Return the fields of this thread's request or job."""
    return dict(_fields.get() or {})


class WithFields(logging.Filter):
    """Filter that sets the current fields as attributes of each record. Django logs some responses after the middleware
    has ended; the fields of those are at their request."""

    def filter(self, record: logging.LogRecord) -> bool:
        values = current() or getattr(getattr(record, "request", None), "log_fields", {})
        for name, value in values.items():
            if not hasattr(record, name):
                setattr(record, name, value)
        return True


class OneLine(logging.Filter):
    """Filter that replaces the traceback of a refused request (400 to 499) with the text of its exception."""

    def filter(self, record: logging.LogRecord) -> bool:
        status = getattr(record, "status_code", None)
        if record.exc_info and isinstance(status, int) and 400 <= status < 500:
            message, reason = record.getMessage(), str(record.exc_info[1])
            record.msg = message if reason in message else f"{message} ({reason})"
            record.args = ()
            record.exc_info = record.exc_text = None
        return True
