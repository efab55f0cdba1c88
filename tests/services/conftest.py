"""Fixtures for real PostgreSQL, Redis and RabbitMQ: every test has its own database and queue."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.jobs.lab.bench import Lab

POSTGRES = os.environ.get("GYM_TEST_POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
BROKERS = {
    "database": "database://",
    "redis": os.environ.get("GYM_TEST_REDIS_URL", "redis://127.0.0.1:6379/0"),
    "rabbitmq": os.environ.get("GYM_TEST_RABBITMQ_URL", "amqp://guest:guest@127.0.0.1:5672/%2F"),
}


def missing(reason: str) -> None:
    """Skip the test; in CI, a missing service is a failure."""
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(f"{reason} (and CI is set)")
    pytest.skip(reason)


def need(url: str) -> None:
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    try:
        socket.create_connection((parts.hostname, parts.port), timeout=1).close()
    except OSError as error:
        missing(f"no {parts.scheme} at {parts.hostname}:{parts.port}: {error}")


@pytest.fixture
def make_lab(tmp_path: Path) -> Iterator[Callable[[str, str], Lab]]:
    """`make_lab("postgresql", "redis")` creates a lab on these services, which is cleaned up afterwards."""
    name = f"lab{uuid.uuid4().hex[:12]}"
    labs: list[Lab] = []
    databases: list[str] = []

    def make(database: str, broker: str) -> Lab:
        url = ""
        if database == "postgresql":
            need(POSTGRES)
            execute(f"CREATE DATABASE {name}")
            databases.append(name)
            url = POSTGRES.rsplit("/", 1)[0] + f"/{name}"
        if broker != "database":
            need(BROKERS[broker])
        lab = Lab(tmp_path, database=url, broker=BROKERS[broker], queue=name)
        labs.append(lab)
        return lab.prepare()

    yield make
    for lab in labs:
        for process in lab.processes:
            process.kill()
        lab.ask("drop_queues", [lab.queue, "default"] if lab.queue != "default" else [])
        lab.close()
    for database in databases:
        execute(f"DROP DATABASE {database} WITH (FORCE)")


@pytest.fixture
def cut_connections() -> Callable[[Lab], None]:
    """Function that cuts all connections, as a restart of PostgreSQL does."""

    def cut(lab: Lab) -> None:
        execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{lab.queue}'")

    return cut


def execute(statement: str) -> None:
    try:
        import psycopg
    except ImportError:
        missing("psycopg is not installed (pip install lm-gym[scale])")
        return
    try:
        with psycopg.connect(POSTGRES, autocommit=True) as connection:
            connection.execute(statement)
    except psycopg.OperationalError as error:
        missing(f"PostgreSQL refuses {POSTGRES}: {error}")
