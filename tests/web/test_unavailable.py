"""While the database or the disk cannot serve, pages and API say so with 503; programming errors stay 500."""

from __future__ import annotations

import errno
import sqlite3

import pytest
from django.db import InterfaceError, OperationalError, ProgrammingError
from django.db.backends.utils import CursorWrapper

from gym import healthz
from gym.jobs.models import WorkerHeartbeat
from gym.unavailable import DISK_FULL, NO_DATABASE, why_unavailable


def of_sqlite(code: int) -> OperationalError:
    cause = sqlite3.OperationalError("as SQLite words it")
    cause.sqlite_errorcode = code
    return caused_by(cause)


def of_postgresql(state: str | None) -> OperationalError:
    cause = Exception("as PostgreSQL words it")
    cause.sqlstate = state
    return caused_by(cause)


def caused_by(cause: Exception) -> OperationalError:
    error = OperationalError(str(cause))
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (of_sqlite(sqlite3.SQLITE_BUSY), NO_DATABASE),
        (of_sqlite(sqlite3.SQLITE_BUSY | 2 << 8), NO_DATABASE),
        (of_sqlite(sqlite3.SQLITE_FULL), DISK_FULL),
        (of_sqlite(sqlite3.SQLITE_ERROR), ""),  # no such table
        (of_postgresql(None), NO_DATABASE),  # connection refused
        (of_postgresql("53300"), NO_DATABASE),  # too many connections
        (of_postgresql("57P03"), NO_DATABASE),  # starting up
        (of_postgresql("53100"), DISK_FULL),
        (of_postgresql("22003"), ""),
        (InterfaceError("connection already closed"), NO_DATABASE),
        (ProgrammingError("no such column"), ""),
        (OSError(errno.ENOSPC, "No space left on device"), DISK_FULL),
        (OSError(errno.EACCES, "Permission denied"), ""),
        (ValueError("a bug"), ""),
        (None, ""),
    ],
)
def test_what_counts_as_unavailable(error, message):
    assert why_unavailable(error) == message


@pytest.fixture
def visitor(client, db):
    client.raise_request_exception = False
    return client


@pytest.fixture
def fail_with(visitor):
    """Let every query raise this error."""
    patch = pytest.MonkeyPatch()

    def fail(error: Exception) -> None:
        def execute(*arguments, **options):
            raise error

        patch.setattr(CursorWrapper, "execute", execute)

    yield fail
    patch.undo()


def test_pages_respond_with_503_and_say_when_to_try_again(visitor, fail_with, caplog):
    fail_with(of_postgresql("57P03"))
    answer = visitor.get("/suites/")
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")
    assert NO_DATABASE in answer.content.decode()
    assert ">Try again<" in answer.content.decode()
    assert [record.exc_info for record in caplog.records] == [None], "one line instead of a traceback"


def test_only_a_page_that_was_read_can_be_requested_again(visitor, fail_with):
    fail_with(of_postgresql("57P03"))
    answer = visitor.post("/accounts/login/", {"username": "kim", "password": "secret"})
    assert answer.status_code == 503
    assert ">Try again<" not in answer.content.decode()


def test_the_api_responds_with_a_problem(visitor, fail_with):
    fail_with(of_postgresql("53300"))
    answer = visitor.get("/api/v1/suites/")
    assert (answer.status_code, answer["Retry-After"]) == (503, "10")
    assert (answer.json()["code"], answer.json()["detail"]) == ("unavailable", NO_DATABASE)


def test_a_mistake_in_a_query_stays_a_500(visitor, fail_with):
    fail_with(of_sqlite(sqlite3.SQLITE_ERROR))
    answer = visitor.get("/suites/")
    assert answer.status_code == 500
    assert "Retry-After" not in answer


def test_a_process_is_alive_and_not_ready_without_its_database(visitor, fail_with):
    assert visitor.get("/readyz").json() == dict.fromkeys(("status", "database", "disk", "broker"), "ok")
    fail_with(of_postgresql(None))
    assert visitor.get("/healthz").status_code == 200
    answer = visitor.get("/readyz")
    assert answer.status_code == 503
    assert (answer.json()["status"], answer.json()["database"]) == ("unavailable", "cannot be read")


def test_a_full_disk_is_not_ready(visitor, monkeypatch):
    monkeypatch.setattr(healthz, "FREE_BYTES", 10**20)
    answer = visitor.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["disk"].endswith("MB free")


@pytest.fixture
def hanging_broker(monkeypatch):
    """A broker that accepts connections and never answers."""

    def hang(*arguments):
        raise AssertionError("a probe contacted the broker")

    monkeypatch.setattr("gym.jobs.broker.broker_problem", hang)
    monkeypatch.setattr("dramatiq.get_broker", hang)


def test_a_site_whose_broker_is_away_is_ready_and_does_not_contact_it(visitor, hanging_broker):
    values = {"host": "h", "pid": 1, "queues": ["default"]}
    WorkerHeartbeat.objects.create(id="w", broker_problem="connection refused", **values)
    answer = visitor.get("/readyz")
    assert answer.status_code == 200
    assert answer.json()["broker"] == "sends no messages; workers poll the database"
