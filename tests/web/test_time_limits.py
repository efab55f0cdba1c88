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
PATIENCE = 1.5  # seconds, enough for all other statements of these requests even on a busy machine


@pytest.fixture
def limited(db, settings):
    settings.GYM_WEB_STATEMENT_SECONDS = PATIENCE
    connection.ensure_connection()
    wrappers = list(connection.execute_wrappers)
    time_limits._limit(connection)
    yield
    connection.execute_wrappers[:] = wrappers
    if connection.vendor == "sqlite":
        connection.connection.set_progress_handler(None, 0)
    else:
        with connection.cursor() as cursor:
            cursor.execute("RESET statement_timeout")


def ask_for_ever(*_: object) -> list[object]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(ENDLESS)
        return cursor.fetchall()


def test_an_endless_statement_is_ended(limited):
    with pytest.raises(OperationalError) as ended:
        ask_for_ever()
    assert time_limits.took_too_long(ended.value)


def test_each_statement_has_the_time_for_itself(limited):
    with pytest.raises(OperationalError):
        ask_for_ever()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchall() == [(1,)]


@pytest.mark.parametrize("address", ["/queue/", "/api/v1/schema/"])
def test_page_and_api_say_that_it_takes_too_long(client, limited, monkeypatch, address):
    monkeypatch.setattr("gym.pages.site_pages.workers", ask_for_ever)
    monkeypatch.setattr("gym.api.views.description", ask_for_ever)
    answer = client.get(address)
    assert answer.status_code == 503
    assert f"longer than {PATIENCE:g} seconds" in answer.content.decode()


def compute_for_ever(*_: object) -> list[bytes]:
    while True:
        sum(range(1_000))


@pytest.mark.parametrize("address", ["/queue/", "/api/v1/schema/"])
def test_page_and_api_say_that_the_request_takes_too_long(client, db, settings, monkeypatch, address):
    monkeypatch.setattr("gym.pages.site_pages.workers", compute_for_ever)
    monkeypatch.setattr("gym.api.views.description", compute_for_ever)
    settings.GYM_WEB_REQUEST_SECONDS = PATIENCE
    timer = threading.Timer(PATIENCE, time_limits.interrupt, [threading.get_ident()])
    timer.start()
    answer = client.get(address)
    assert answer.status_code == 503
    assert f"longer than {PATIENCE:g} seconds" in answer.content.decode()


def test_only_requests_that_compute_too_long_are_interrupted_and_once():
    site = Watched(compute_for_ever, threads=1)
    threading.Timer(PATIENCE, site.interrupt_long_requests, [PATIENCE / 2]).start()
    with pytest.raises(time_limits.RequestTooLong):
        site({}, None)
    site.application = lambda *_: site.interrupt_long_requests(PATIENCE) or [b"done"]
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
