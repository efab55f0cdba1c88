"""Time limits of web requests, for each database statement and for the whole request.

The web server calls `limit_statements` and ends requests with `interrupt`. Workers and commands have no such limits.
"""

from __future__ import annotations

import ctypes
import sqlite3
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import OperationalError
from django.db.backends.signals import connection_created
from django.http import HttpRequest, HttpResponse

from gym.error_pages import error_response

STEPS = 5_000
"""Instructions of SQLite's virtual machine between two checks: a few milliseconds."""
TOO_LONG = "This takes the database longer than {:g} seconds, the limit of this site. Request less data."

REQUEST_TOO_LONG = "This takes longer than {:g} seconds, the limit of this site. Send or request less data."


def limit_statements() -> None:
    """Limit all statements of this process to GYM_WEB_STATEMENT_SECONDS (0: no limit): PostgreSQL by elapsed time,
    SQLite by CPU time."""
    if settings.GYM_WEB_STATEMENT_SECONDS:
        connection_created.connect(_limit, dispatch_uid="statement_limit")


def _limit(connection: Any, **_: Any) -> None:
    seconds = settings.GYM_WEB_STATEMENT_SECONDS
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, false)", [str(round(seconds * 1000))])
    elif connection.vendor == "sqlite":
        clock = _Clock(seconds)
        connection.connection.set_progress_handler(clock.is_over, STEPS)
        connection.execute_wrappers[:] = [
            wrapper for wrapper in connection.execute_wrappers if not _is_clocks(wrapper)
        ]
        connection.execute_wrappers.append(clock.around)


def _is_clocks(wrapper: Any) -> bool:
    return isinstance(getattr(wrapper, "__self__", None), _Clock)


class _Clock:
    """Clock of the CPU time that this thread has spent in SQLite since the last statement started."""

    MAX_BETWEEN = 0.25
    """Maximum seconds counted between two checks, because time that Python spends between two rows must not
    count."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.spent = self.last = 0.0

    def around(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        self.spent, self.last = 0.0, time.thread_time()
        return execute(*arguments)

    def is_over(self) -> bool:
        now = time.thread_time()
        self.spent += min(now - self.last, self.MAX_BETWEEN)
        self.last = now
        return self.spent > self.seconds


def took_too_long(error: BaseException) -> bool:
    """Return True if the limit ended this statement."""
    cause = error.__cause__
    if not isinstance(error, OperationalError) or cause is None:
        return False
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT
    return getattr(cause, "sqlstate", None) == "57014"  # query_canceled


class RequestTooLong(Exception):
    """Raised in the thread of a request that has run for GYM_WEB_REQUEST_SECONDS."""


def interrupt(thread: int) -> None:
    """Raise RequestTooLong in a thread as soon as it runs Python code; a call into a C library finishes first."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(RequestTooLong))


class TimeLimits:
    """Middleware: respond with 503 to requests that exceed a limit."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, RequestTooLong):
            message = REQUEST_TOO_LONG.format(settings.GYM_WEB_REQUEST_SECONDS)
        elif took_too_long(error):
            message = TOO_LONG.format(settings.GYM_WEB_STATEMENT_SECONDS)
        else:
            return None
        return error_response(request, 503, "too-slow", message, title="This takes too long")
