"""Errors of a database or a disk that cannot serve now, as opposed to errors of the program."""

from __future__ import annotations

import errno
import sqlite3

from django.db import InterfaceError, OperationalError

RETRY_SECONDS = 10
NO_DATABASE = "The database does not answer at the moment. Nothing was saved. Try again in a minute."
DISK_FULL = "The disk of this site is full. Nothing was saved. An administrator has to free space."
_PAUSED = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
}
_PAUSED_CLASSES = ("08", "53", "57", "58")
"""PostgreSQL: connection exceptions, insufficient resources, operator intervention (start and shutdown), system
errors. A connection that fails has no code."""
_DISK_FULL_STATE = "53100"


def why_unavailable(error: BaseException | None) -> str:
    """Return a sentence for users if the database or the disk cannot serve now; "" for any other error."""
    if isinstance(error, OSError):
        return DISK_FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    if not isinstance(error, OperationalError | InterfaceError):
        return ""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", 0) & 0xFF  # the low byte of an extended code
        return DISK_FULL if code == sqlite3.SQLITE_FULL else NO_DATABASE if code in _PAUSED else ""
    state = getattr(cause, "sqlstate", None)
    if state == _DISK_FULL_STATE:
        return DISK_FULL
    return NO_DATABASE if state is None or state.startswith(_PAUSED_CLASSES) else ""
