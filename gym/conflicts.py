"""Conflicts between concurrent changes: the later one is refused with 409."""

from __future__ import annotations

from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError, OperationalError

MESSAGE = "Another request changed this at the same time. Reload and try again."
_CONCURRENT = {"40001", "40P01", "55P03"}
"""PostgreSQL: serialization failure, deadlock, lock not available."""


class Conflict(Exception):
    """Raised if rows were changed after they were read."""

    def __init__(self, message: str = MESSAGE) -> None:
        super().__init__(message)


def is_conflict(error: Exception, *, changes: bool) -> bool:
    """Return True if a concurrent change caused this error. `changes`: the request writes, so a missing row counts."""
    if isinstance(error, OperationalError):
        return getattr(error.__cause__, "sqlstate", None) in _CONCURRENT
    is_missing = changes and isinstance(error, ObjectDoesNotExist)
    return is_missing or isinstance(error, Conflict | IntegrityError)
