"""Concurrent changes of the same rows: the later one is refused, and nothing is lost."""

from __future__ import annotations

from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError, OperationalError

SAID = "Somebody changed this at the same moment. Look at it and try again."
_CONCURRENT = {"40001", "40P01", "55P03"}
"""PostgreSQL: serialization failure, deadlock, a lock that could not be had in time."""


class Conflict(Exception):
    """The rows were changed after they were read."""

    def __init__(self, message: str = SAID) -> None:
        super().__init__(message)


def is_conflict(error: Exception, *, changes: bool) -> bool:
    """Is this error caused by a concurrent change? `changes`: in a request that writes, a missing row counts too."""
    if isinstance(error, OperationalError):
        return getattr(error.__cause__, "sqlstate", None) in _CONCURRENT
    gone = changes and isinstance(error, ObjectDoesNotExist)
    return gone or isinstance(error, Conflict | IntegrityError)
