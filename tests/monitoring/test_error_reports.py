"""Reports of unexpected errors to administrators: by mail and to Sentry."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys

import pytest
from django.core import mail

from gym.env import EnvError
from gym.monitoring import admin_mail, sentry
from tests.test_house import ROOT

PAGE = "/about/?search=private-words"


@pytest.fixture
def broken(client, db, monkeypatch, settings):
    """A client of a site whose about page raises, with an administrator's address."""
    settings.ADMINS = [("", "admin@example.org")]
    client.raise_request_exception = False
    monkeypatch.setattr("gym.pages.site_pages.render", lambda *arguments: 1 / 0)
    (handler,) = logging.getLogger("django.request").handlers
    handler.filters[0]._last.clear()
    return client


def test_an_unexpected_error_is_mailed_with_its_traceback(broken):
    answer = broken.get(PAGE)
    (sent,) = mail.outbox
    assert sent.to == ["admin@example.org"]
    assert sent.subject.startswith("[LM Gym] ERROR")
    assert "ZeroDivisionError" in sent.body
    assert answer["X-Request-ID"] in sent.body


def test_the_mail_has_no_body_cookie_or_setting(broken, settings):
    broken.cookies["sessionid"] = "secret-cookie"
    broken.post(PAGE, {"text": "private text"}, headers={"Authorization": "Bearer secret-token"})
    broken.get(PAGE)
    (sent,) = mail.outbox
    leaked = ("secret-cookie", "private", "secret-token", settings.SECRET_KEY, "DATABASES")
    assert not [word for word in leaked if word in sent.subject + sent.body]


def test_an_error_is_mailed_once_in_five_minutes(broken, monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(admin_mail.time, "monotonic", lambda: now[0])
    for _ in range(3):
        broken.get(PAGE)
    assert len(mail.outbox) == 1
    now[0] += admin_mail.PAUSE_SECONDS
    broken.get(PAGE)
    assert len(mail.outbox) == 2


def test_refused_requests_are_not_mailed(broken, settings):
    settings.ALLOWED_HOSTS = ["gym.example.org"]
    broken.get("/accounts/login/", headers={"Host": "evil.example"})
    settings.ALLOWED_HOSTS = ["*"]
    broken.get("/suites/no-such-suite/")
    assert mail.outbox == []


def test_a_missing_sentry_sdk_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentry_sdk", None)
    with pytest.raises(EnvError, match=r'pip install "lm-gym\[sentry\]"'):
        sentry.start("https://key@sentry.example.org/1")


def test_a_malformed_dsn_is_not_repeated():
    with pytest.raises(EnvError, match="GYM_SENTRY_DSN is not a DSN") as caught:
        sentry.start("no-dsn-but-secret")
    assert "secret" not in str(caught.value)


SEND = """
import json, os, sys
import django
from django.conf import settings
django.setup()
import sentry_sdk
from django.test import Client
from gym.pages import site_pages

class Printed(sentry_sdk.Transport):
    def capture_envelope(self, envelope):
        print(json.dumps(envelope.get_event(), default=str))

sentry_sdk.get_client().transport = Printed()
site_pages.render = lambda *arguments: 1 / 0
client = Client(raise_request_exception=False, headers={"Authorization": "Bearer secret-token"})
client.cookies["sessionid"] = "secret-cookie"
client.post("/about/?search=private-words", {"text": "private text"})
client.get("/about/?search=private-words&of=x-0123456789abcdef0123")
client.get("/about/", headers={"Host": "evil.example"})
"""


def test_sentry_gets_one_event_per_unexpected_error_without_personal_data(tmp_path):
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "gym.settings",
        "GYM_VAR_DIR": str(tmp_path),
        "GYM_ALLOWED_HOSTS": "testserver",
        "GYM_SECRET_KEY": "key-of-the-site",
        "GYM_SENTRY_DSN": "https://key@sentry.invalid/1",
    }
    ended = subprocess.run(
        [sys.executable, "-c", SEND], env=env, cwd=ROOT, capture_output=True, text=True, check=True
    )
    (event,) = [json.loads(line) for line in ended.stdout.splitlines() if line != "null"]
    assert event["exception"]["values"][-1]["type"] == "ZeroDivisionError"
    leaked = ("secret-cookie", "private", "secret-token", "key-of-the-site", "0123456789abcdef")
    assert not [word for word in leaked if word in json.dumps(event)]
