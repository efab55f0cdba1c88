"""PostgreSQL timeouts that release the locks of workers which freeze or lose their network in a transaction.

Their sessions end; a user who cancels their job gets a response before that.
"""

from __future__ import annotations

from typing import Any

from django.db import connection as current
from django.db import connections
from django.db.backends.signals import connection_created

from gym.jobs import conf

IDLE_SECONDS = 10.0
"""Longest pause between statements of a transaction, unless a lease is shorter. Handlers compute outside."""
NETWORK_SECONDS = 15
"""The database closes a connection after this long without a response of the client's kernel."""
LOCK_SECONDS = 3.0
"""Longest wait of a user's request for a locked row."""


def wait_briefly() -> None:
    """Limit waiting for locks in this transaction to LOCK_SECONDS; then it is a conflict (`gym.conflicts`)."""
    if current.vendor == "postgresql":
        with current.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [str(round(LOCK_SECONDS * 1000))])


def limit_sessions() -> None:
    """Limit all sessions of this process. SQLite has no such limit; `serve` kills frozen workers."""
    connection_created.connect(_limit, dispatch_uid="worker_sessions")
    connections.close_all()  # connections opened before have no limits


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
