"""On PostgreSQL the locks of a worker that freezes, or loses its network, in a transaction hold up nobody for long.

Its sessions end, and who cancels its job is answered before that.
"""

from __future__ import annotations

from typing import Any

from django.db import connection as current
from django.db import connections
from django.db.backends.signals import connection_created

from gym.jobs import conf

IDLE_SECONDS = 10.0
"""Longest pause between two statements of a transaction, if a lease is not shorter. Handlers compute outside."""
NETWORK_SECONDS = 15
"""After so long without an answer of the other machine's kernel the database gives a connection up."""
LOCK_SECONDS = 3.0
"""Longest wait of a person for a row that somebody else holds."""


def wait_briefly() -> None:
    """In this transaction no row is waited for longer than LOCK_SECONDS: that is a conflict then (gym.conflicts)."""
    if current.vendor == "postgresql":
        with current.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [str(round(LOCK_SECONDS * 1000))])


def limit_sessions() -> None:
    """From now on in this process. SQLite has no such limit: there `serve` ends a frozen worker."""
    connection_created.connect(_limit, dispatch_uid="worker_sessions")
    connections.close_all()  # those opened before have no limits


def _limit(connection: Any, **_: Any) -> None:
    if connection.vendor != "postgresql":
        return
    limits = {
        "idle_in_transaction_session_timeout": round(min(IDLE_SECONDS, conf.lease_seconds()) * 1000),
        "tcp_user_timeout": NETWORK_SECONDS * 1000,
        "tcp_keepalives_idle": NETWORK_SECONDS // 3,
        "tcp_keepalives_interval": NETWORK_SECONDS // 3,
        "tcp_keepalives_count": 2,
    }
    with connection.cursor() as cursor:
        for name, value in limits.items():
            cursor.execute("SELECT set_config(%s, %s, false)", [name, str(value)])
