"""Files that jobs create for downloads. They are kept for a while in pieces in the database, because workers and web
servers may run on different machines.

Each kind of file is a model with `size`, `created` and `completed_at`, and a model of its pieces with `position` and
`data`, whose related name is `pieces`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import IO, Any

from django.conf import settings
from django.db.models import QuerySet, Sum
from django.utils import timezone

from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure

KEEP = timedelta(days=7)
PIECE = 1024 * 1024
MEGABYTE = 1_000_000


def store(context: JobContext, row: Any, file: IO[bytes], hint: str = "") -> int:
    """Store the pieces of `file` for `row`, after deleting older files that leave too little space.

    Returns:
        The size of the file in bytes.

    Raises:
        PermanentFailure: the file is larger than GYM_KEPT_ZIPS_MB. The message ends with `hint`.
    """
    size = file.seek(0, 2)
    require_space(size, hint)
    file.seek(0)
    with context.transaction():
        row.pieces.all().delete()  # from an interrupted attempt
        drop_old(type(row)._default_manager.all(), reserve=size)
    position = 0
    while data := file.read(PIECE):
        context.check()
        with context.transaction():
            row.pieces.create(position=position, data=data)
        position += 1
    return size


def require_space(size: int, hint: str = "") -> None:
    """Raise PermanentFailure if the site keeps no files of this size."""
    if size > settings.GYM_KEPT_ZIPS_MB * MEGABYTE:
        limit = f"this site keeps at most {settings.GYM_KEPT_ZIPS_MB:,} MB"
        raise PermanentFailure(f"The zip is {size // MEGABYTE:,} MB; {limit}. {hint}".strip())


def pieces_of(row: Any) -> Iterator[bytes]:
    """Yield the file. One query per piece, so that no cursor stays open while a slow client reads."""
    for position in range(-(-row.size // PIECE)):
        yield bytes(row.pieces.get(position=position).data)


def drop_old(rows: QuerySet[Any], reserve: int = 0) -> int:
    """Delete files of one kind (`rows`: all of them) older than KEEP, then the oldest finished ones until `reserve`
    more bytes fit into GYM_KEPT_ZIPS_MB. Return how many were deleted."""
    old = rows.filter(created__lt=timezone.now() - KEEP)
    deleted = old.delete()[1].get(rows.model._meta.label, 0)
    done = rows.exclude(completed_at=None)
    excess = (done.aggregate(n=Sum("size"))["n"] or 0) + reserve - settings.GYM_KEPT_ZIPS_MB * MEGABYTE
    for pk, size in list(done.order_by("completed_at").values_list("pk", "size")):
        if excess <= 0:
            break
        rows.filter(pk=pk).delete()
        deleted += 1
        excess -= size
    return deleted
