"""Concurrent requests. Each needs its own database connection, hence PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections


def need_connections() -> None:
    if connection.vendor == "sqlite" and connection.is_in_memory_db():
        pytest.skip("SQLite in memory has one connection; the test runs on PostgreSQL")


def together(*actions: Callable[[], Any]) -> list[Exception]:
    """Run the actions in threads that start together; return the exceptions."""
    gate, wrong = threading.Barrier(len(actions)), []

    def act(action: Callable[[], Any]) -> None:
        gate.wait()
        try:
            action()
        except Exception as error:
            wrong.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=act, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong
