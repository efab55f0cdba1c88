"""PostgreSQL timeouts that end the session, and so release the locks, of a worker that freezes or loses its
network in a transaction.

A user who cancels such a job waits only LOCK_SECONDS for a response.
"""

from __future__ import annotations

from typing import Any

from django.db import connection as current
from django.db import connections
from django.db.backends.signals import connection_created

from gym.jobs import conf

IDLE_SECONDS = 10.0
"""Longest pause between statements of a transaction, unless a lease is shorter. Handlers compute outside of
transactions."""
NETWORK_SECONDS = 15
"""Seconds without a response from the client's kernel after which the database closes a connection."""
LOCK_SECONDS = 3.0
"""Longest time that a user's request waits for a locked row."""


def wait_briefly() -> None:
    """Limit waiting for locks in this transaction to LOCK_SECONDS; a longer wait is a conflict (`gym.conflicts`)."""
    if current.vendor == "postgresql":
        with current.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [str(round(LOCK_SECONDS * 1000))])


def limit_sessions() -> None:
    """Limit all sessions of this process. SQLite has no such limit; `serve` kills frozen workers."""
    connection_created.connect(_limit, dispatch_uid="worker_sessions")
    connections.close_all()  # connections that are already open have no limits


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
