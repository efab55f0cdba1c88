"""Time limits of a web request: of each database statement, and of the whole, so that neither holds a thread for ever.

The web server's process calls `limit_statements`, and ends requests by `interrupt`; workers and commands may take as
long as they need.
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

from gym.error_pages import error_answer

STEPS = 5_000
"""Steps of SQLite's virtual machine between two checks: a few milliseconds."""
TOO_LONG = "This takes the database longer than {:g} seconds, which this site does not allow. Ask for less."

REQUEST_TOO_LONG = (
    "This takes longer than {:g} seconds, which this site does not allow. Send or ask for less."
)


def limit_statements() -> None:
    """From now on in this process. PostgreSQL limits elapsed time, SQLite processor time."""
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
        connection.execute_wrappers[:] = [one for one in connection.execute_wrappers if not _is_clocks(one)]
        connection.execute_wrappers.append(clock.around)


def _is_clocks(wrapper: Any) -> bool:
    return isinstance(getattr(wrapper, "__self__", None), _Clock)


class _Clock:
    """Processor time of this thread within SQLite since the last statement began."""

    MOST_BETWEEN = 0.25
    """Seconds counted between two checks, because Python's time between two rows is not the database's."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.spent = self.last = 0.0

    def around(self, execute: Callable[..., Any], *arguments: Any) -> Any:
        self.spent, self.last = 0.0, time.thread_time()
        return execute(*arguments)

    def is_over(self) -> bool:
        now = time.thread_time()
        self.spent += min(now - self.last, self.MOST_BETWEEN)
        self.last = now
        return self.spent > self.seconds


def took_too_long(error: BaseException) -> bool:
    """Did the limit end this statement?"""
    cause = error.__cause__
    if not isinstance(error, OperationalError) or cause is None:
        return False
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT
    return getattr(cause, "sqlstate", None) == "57014"  # query_canceled


class RequestTooLong(Exception):
    """Raised in the thread of a request that has run for GYM_WEB_REQUEST_SECONDS."""


def interrupt(thread: int) -> None:
    """Raise RequestTooLong in this thread as soon as it runs Python again: a call into a C library ends first."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(RequestTooLong))


class TimeLimits:
    """Middleware: what took too long answers 503 with the reason."""

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
        return error_answer(request, 503, "too-slow", message, title="This takes too long")
