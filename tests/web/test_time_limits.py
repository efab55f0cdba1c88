"""Database statements and requests that take too long end with a response that says so; workers have no such
limit."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
from django.db import OperationalError, connection, transaction

from gym import time_limits
from gym.jobs.web_server import Watched

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
SECONDS = 0.1
PAGE_AND_API = pytest.mark.parametrize("address", ["/queue/", "/api/v1/schema/"])


@pytest.fixture
def endless(db, settings):
    """Function that runs an endless statement under a limit. Statements before it have no limit."""
    connection.ensure_connection()
    wrappers = list(connection.execute_wrappers)

    def ask(*_: object) -> list[object]:
        settings.GYM_WEB_STATEMENT_SECONDS = SECONDS
        time_limits._limit(connection)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(ENDLESS)
            return cursor.fetchall()

    yield ask
    connection.execute_wrappers[:] = wrappers
    if connection.vendor == "sqlite":
        connection.connection.set_progress_handler(None, 0)
    else:
        with connection.cursor() as cursor:
            cursor.execute("RESET statement_timeout")


def test_an_endless_statement_is_ended_and_the_next_one_has_the_time_for_itself(endless):
    with pytest.raises(OperationalError) as ended:
        endless()
    assert time_limits.took_too_long(ended.value)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchall() == [(1,)]


@PAGE_AND_API
def test_page_and_api_say_that_it_takes_too_long(client, endless, monkeypatch, address):
    monkeypatch.setattr("gym.pages.site_pages.workers", endless)
    monkeypatch.setattr("gym.api.views.description", endless)
    answer = client.get(address)
    assert answer.status_code == 503
    assert time_limits.TOO_LONG.format(SECONDS) in answer.content.decode()


def compute_for_ever(*_: object) -> list[bytes]:
    while True:
        sum(range(1_000))


@PAGE_AND_API
def test_page_and_api_say_that_the_request_takes_too_long(client, db, settings, monkeypatch, address):
    settings.GYM_WEB_REQUEST_SECONDS = SECONDS

    def interrupted(*_: object) -> list[bytes]:
        threading.Timer(SECONDS, time_limits.interrupt, [threading.get_ident()]).start()
        return compute_for_ever()

    monkeypatch.setattr("gym.pages.site_pages.workers", interrupted)
    monkeypatch.setattr("gym.api.views.description", interrupted)
    answer = client.get(address)
    assert answer.status_code == 503
    assert time_limits.REQUEST_TOO_LONG.format(SECONDS) in answer.content.decode()


def test_only_requests_that_compute_too_long_are_interrupted_and_once():
    site = Watched(compute_for_ever, threads=1)
    threading.Timer(2 * SECONDS, site.interrupt_long_requests, [SECONDS]).start()
    with pytest.raises(time_limits.RequestTooLong):
        site({}, None)
    site.application = lambda *_: site.interrupt_long_requests(60) or [b"done"]
    assert site({}, None) == [b"done"]
    assert site.busy == 0


def test_only_the_web_server_is_limited():
    """A process that only sets Django up, such as a worker, has no limits; one that loads the WSGI
    application has."""
    program = (
        "import django; django.setup()\n"
        "from django.db.backends.signals import connection_created as created\n"
        "print(len(created.receivers)); import gym.wsgi; print(len(created.receivers))"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "gym.settings"}
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert told.returncode == 0, told.stderr
    before, after = map(int, told.stdout.split())
    assert after == before + 1
