"""Logs: request ids, JSON lines, one line for refused requests, and no secrets."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.utils.module_loading import import_string

from gym import log_fields
from gym.accounts.redaction import redacted
from gym.jobs.testing import run_pending
from gym.monitoring.json_logs import JsonLines
from gym.runs.work.services import queue_run
from tests.factories import make_model, make_revision

SECRET_SLUG = "agreement-0123456789abcdef0123"


@pytest.fixture
def lines():
    """Return a function that parses what was logged as JSON, after the console's filters."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    for name in site_settings.LOGGING["handlers"]["console"]["filters"]:
        handler.addFilter(import_string(site_settings.LOGGING["filters"][name]["()"])())
    root, requests = logging.getLogger(), logging.getLogger("gym.requests")
    level = requests.level
    root.addHandler(handler)
    requests.setLevel(logging.INFO)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.removeHandler(handler)
    requests.setLevel(level)


def of(lines: list[dict[str, Any]], logger: str) -> list[dict[str, Any]]:
    return [line for line in lines if line["logger"] == logger]


def test_a_request_has_a_line_with_account_suite_duration_and_id(client, people, lines):
    make_revision(people.alice, name="agreement")
    client.force_login(people.alice)
    client.get("/suites/agreement/", headers={"X-Request-ID": "abc-1"})
    (line,) = of(lines(), "gym.requests")
    assert 0 < line.pop("seconds") < 60
    assert line.pop("time")
    assert line.pop("process")
    assert line == {
        "level": "INFO",
        "logger": "gym.requests",
        "message": "GET suite-detail 200",
        "request_id": "abc-1",
        "method": "GET",
        "view": "suite-detail",
        "status": 200,
        "user": people.alice.pk,
        "suite": "agreement",
    }


def test_the_api_names_suite_and_account_too(client, people, lines):
    make_model(people.alice, slug="gpt")
    client.force_login(people.alice)
    client.get("/api/v1/models/gpt/")
    (line,) = of(lines(), "gym.requests")
    assert (line["model"], line["user"]) == ("gpt", people.alice.pk)


def test_a_run_names_suite_model_account_and_duration(people, lines):
    run = queue_run(
        make_revision(people.alice, name="agreement"),
        make_model(people.alice, slug="gpt"),
        actor=people.alice,
    )
    run_pending()
    line = of(lines(), "gym.jobs.runner")[-1]
    assert (line["suite"], line["model"], line["user"]) == ("agreement", "gpt", people.alice.pk)
    assert (line["job"], line["state"]) == (str(run.job.pk), "done")
    assert line["seconds"] > 0


@pytest.mark.parametrize("given", ["", "two words", "x" * 65, "ü"])
def test_a_request_without_a_valid_id_gets_a_new_one(client, db, given):
    answer = client.get("/about/", headers={"X-Request-ID": given})
    assert len(answer["X-Request-ID"]) == 32
    assert client.get("/about/")["X-Request-ID"] != answer["X-Request-ID"]


def test_a_404_has_its_requests_id(client, db, lines):
    answer = client.get("/no-such-page/")
    (line,) = of(lines(), "django.request")
    assert line["request_id"] == answer["X-Request-ID"]


def test_fields_end_with_their_request():
    with log_fields.fields(request_id="a"):
        log_fields.add(view="b")
        assert log_fields.current() == {"request_id": "a", "view": "b"}
    log_fields.add(view="c")
    assert log_fields.current() == {}


def test_a_foreign_host_is_one_line(client, db, settings, lines):
    settings.ALLOWED_HOSTS = ["gym.example.org"]
    client.get("/about/", headers={"Host": "evil.example"})
    (line,) = of(lines(), "django.security.DisallowedHost")
    assert "evil.example" in line["message"]
    assert "exc_info" not in line


def test_a_403_is_one_line_with_its_reason(client, people, lines):
    client.force_login(people.alice)
    assert client.get("/staff/").status_code == 403
    (line,) = of(lines(), "django.request")
    assert line["message"] == "Forbidden (Permission denied): /staff/ (only staff may do this)"
    assert "exc_info" not in line


def test_an_unexpected_error_keeps_its_traceback(client, db, monkeypatch, lines):
    client.raise_request_exception = False
    monkeypatch.setattr("gym.pages.site_pages.render", lambda *arguments: 1 / 0)
    assert client.get("/about/").status_code == 500
    (line,) = of(lines(), "django.request")
    assert "ZeroDivisionError" in line["exc_info"]


@pytest.mark.parametrize(
    ("text", "logged"),
    [
        ("lmg_abcdefgh12345678", "lmg_abcdefgh…"),
        ("hf_" + "A1" * 15, "hf_…"),
        (f"/suites/{SECRET_SLUG}/", "/suites/agreement-…/"),
        ("job 0b5c3f6e-7a55-4a4e-9d6b-0123456789ab", "job 0b5c3f6e-7a55-4a4e-9d6b-0123456789ab"),
    ],
)
def test_tokens_and_secret_addresses_are_not_logged(text, logged):
    assert redacted(text) == logged


def test_a_secret_address_is_in_no_line(client, db, lines):
    client.get(f"/suites/{SECRET_SLUG}/?token=lmg_abcdefgh12345678", headers={"Cookie": "sessionid=s3cret"})
    text = json.dumps(lines())
    assert "suite-detail" in text
    assert not [word for word in ("0123456789abcdef", "12345678", "s3cret") if word in text]
