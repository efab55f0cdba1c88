"""What a response depends on: the tables it was read from, the clock, and whether it may be kept at all.

`Reads` records it while a view runs. Code that shows something that changes without a change of a table reports it by
`never_keep` or `keep_for`; outside of a recorded view, these do nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any

from django.apps import apps
from django.db import connection

VERSIONS = 'SELECT "table", SUM(value) FROM page_cache_tablechange GROUP BY "table"'
_READS = ("SELECT", "WITH", "SAVEPOINT", "RELEASE")
_current: ContextVar[Reads | None] = ContextVar("reads", default=None)


def table_versions() -> dict[str, Any]:
    """Return the version of every watched table. A table without an entry is not watched."""
    with connection.cursor() as cursor:
        cursor.execute(VERSIONS)
        return dict(cursor.fetchall())


class Reads:
    """Record of one response. `versions` are those before its first query, so that a change during the view makes a
    difference."""

    def __init__(self) -> None:
        self.may_keep = True
        self.seconds = float("inf")
        self.tables: set[str] = set()
        self.versions: Mapping[str, Any] | None = None

    def dependencies(self) -> dict[str, Any] | None:
        """Return the version of each table that was read; None if the response may not be kept."""
        versions = self.versions or {}
        if not self.may_keep or not self.tables <= versions.keys():
            return None
        return {table: versions[table] for table in self.tables}

    def note_statement(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        """Execute wrapper of the database connection."""
        if self.versions is None:
            self.versions = {}  # ends the recursion
            self.versions = table_versions()
        if sql is not VERSIONS:
            tables = _tables_in(sql)
            if tables is None:
                self.may_keep = False
            else:
                self.tables |= tables
        return execute(sql, params, many, context)


@contextmanager
def recorded() -> Iterator[Reads]:
    """Record what the code inside reads."""
    reads = Reads()
    token = _current.set(reads)
    connection.execute_wrappers.append(reads.note_statement)
    try:
        yield reads
    finally:
        # connection.execute_wrapper() would remove the last wrapper, which a reconnect inside may have added
        connection.execute_wrappers.remove(reads.note_statement)
        _current.reset(token)


def never_keep() -> None:
    """Keep no copy of the current response: it shows something private, or something that changes all the time."""
    if (reads := _current.get()) is not None:
        reads.may_keep = False


def keep_for(seconds: float) -> None:
    """Keep the current response no longer than `seconds`, because it shows a time relative to now."""
    if (reads := _current.get()) is not None:
        reads.seconds = min(reads.seconds, seconds)


@cache
def _all_tables() -> frozenset[str]:
    return frozenset(model._meta.db_table for model in apps.get_models(include_auto_created=True))


@lru_cache(maxsize=512)  # texts of tens of kB, with long lists of keys
def _tables_in(sql: str) -> frozenset[str] | None:
    """Return the tables that a statement names; None if it may write."""
    if not sql.lstrip("( \n").upper().startswith(_READS):
        return None
    return frozenset(re.findall(r"\w+", sql)) & _all_tables()
