"""Two people, or one twice, change the same thing at the same moment: one of them is told, and nothing is lost."""

from __future__ import annotations

from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError, OperationalError

SAID = "Somebody changed this at the same moment. Look at it and try again."
_SERIALIZATION = {"40001", "40P01"}
"""What PostgreSQL says of a transaction that it ended so that others could go on."""


class Conflict(Exception):
    """What this would change is not any more as it was when the request came."""

    def __init__(self, message: str = SAID) -> None:
        super().__init__(message)


def is_conflict(error: Exception, *, changes: bool) -> bool:
    """Is this error the work of somebody quicker? `changes`: in a request that would change something, a row that is
    gone counts, too."""
    if isinstance(error, OperationalError):
        return getattr(error.__cause__, "sqlstate", None) in _SERIALIZATION
    gone = changes and isinstance(error, ObjectDoesNotExist)
    return gone or isinstance(error, Conflict | IntegrityError)
