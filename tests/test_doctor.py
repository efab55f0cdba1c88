"""Findings of `lmgym doctor`: each wrong state is named together with its remedy, without a traceback."""

from __future__ import annotations

import os

import pytest
from django.core.management import call_command

from gym import doctor
from gym.doctor import BAD, OK, WARN, exposure, machine, services
from gym.jobs.models import WorkerHeartbeat

OWN_KEY = "kfV0m3XhT9zqB6r1PwYs8Lc2NdJg5UaE"


def found(results, words):
    """Return the level of the finding that contains these words; None if there is none."""
    return next((level for level, text in results if words in text), None)


@pytest.fixture
def worker(db):
    return WorkerHeartbeat.objects.create(id="w", host="gpu1", pid=7, queues=["default"])


@pytest.mark.parametrize(("key", "level"), [("x", BAD), ("a" * 50, BAD), (OWN_KEY, OK)])
def test_a_key_that_can_be_guessed(settings, key, level):
    settings.SECRET_KEY = key
    assert found(exposure.check(), "GYM_SECRET_KEY is") == level


def test_any_host_name(settings):
    settings.ALLOWED_HOSTS = ["*"]
    assert found(exposure.check(), "GYM_ALLOWED_HOSTS=*") == WARN


def test_reports_of_errors_without_a_mail_server(settings):
    settings.ADMINS = [("", "admin@example.org")]
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert found(exposure.check(), "for GYM_ADMIN_EMAIL go to the console") == WARN


def test_a_misspelt_setting_names_the_one_that_was_meant(monkeypatch):
    for name in [name for name in os.environ if name.startswith("GYM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GYM_MODEL_MEMROY_MB", "4")
    monkeypatch.setenv("GYM_TOKEN", "a token of the client")
    texts = [text for _, text in exposure._unknown_names()]
    assert texts == [
        "GYM_MODEL_MEMROY_MB is not a setting and has no effect. Did you mean GYM_MODEL_MEMORY_MB?"
    ]


def test_a_broker_that_does_not_answer(db, monkeypatch):
    monkeypatch.setattr(services, "broker_problem", lambda: "connection refused")
    assert found(services.check(), "does not answer: connection refused") == BAD


def test_a_redis_that_drops_messages(db, monkeypatch):
    monkeypatch.setattr(services, "eviction_policy", lambda: "allkeys-lru")
    assert found(services.check(), "maxmemory-policy noeviction") == WARN


def test_the_password_of_the_broker_is_not_shown(db, settings):
    settings.GYM_BROKER_URL = "redis://:secret@redis.example.org/0"
    assert not any("secret@" in text for _, text in services.check())


def test_a_mail_server_that_does_not_answer(db, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    assert found(services.check(), "mail server 127.0.0.1:1") == WARN


def test_workers_that_differ(worker):
    worker.version, worker.clock_seconds, worker.broker_problem = "0.1.0", 45.0, "timed out"
    worker.save()
    results = services.check()
    assert found(results, "worker gpu1:7 runs LM Gym 0.1.0") == WARN
    assert found(results, "clock of worker gpu1:7 differs by +45 s") == BAD
    assert found(results, "receives no messages: timed out") == WARN


def test_a_data_folder_in_which_nothing_can_be_stored(settings, tmp_path):
    (tmp_path / "file").touch()
    settings.VAR_DIR = tmp_path / "file"
    assert found(machine._disk(), "nothing can be stored") == BAD


@pytest.mark.parametrize(("free", "level"), [(10**20, BAD), (0, OK)])
def test_a_full_disk(settings, tmp_path, monkeypatch, free, level):
    settings.VAR_DIR = tmp_path
    monkeypatch.setattr(machine, "FREE_BYTES", free)
    monkeypatch.setattr(machine, "LOW_BYTES", free)
    assert machine._disk()[0][0] == level


def test_a_model_folder_out_of_reach(settings, tmp_path, monkeypatch):
    settings.GYM_MODEL_DIR = tmp_path / "away"
    monkeypatch.setenv("GYM_MODEL_DIR", str(tmp_path / "away"))
    assert found(machine.check(), "does not exist on this machine") == BAD


def test_a_check_that_fails_is_a_finding(db, monkeypatch):
    def fail():
        raise RuntimeError("unexpected")

    monkeypatch.setattr(services, "check", fail)
    assert found(doctor.findings(), "the checks of services failed: RuntimeError: unexpected") == BAD


@pytest.mark.parametrize(("level", "deploy", "code"), [(WARN, False, 0), (WARN, True, 1), (BAD, False, 1)])
def test_the_exit_status_and_what_it_follows_from(monkeypatch, capsys, level, deploy, code):
    monkeypatch.setattr(
        "gym.management.commands.doctor.findings", lambda: [(OK, "fine"), (level, "not fine")]
    )
    if code:
        with pytest.raises(SystemExit, match="1"):
            call_command("doctor", deploy=deploy)
    else:
        call_command("doctor", deploy=deploy)
    assert ("No problems found." in capsys.readouterr().out) == (code == 0)
