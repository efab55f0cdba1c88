"""A worker that is older than the database or another worker leaves the jobs to newer ones."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from gym import site_command
from gym.jobs import conf, lifecycle, runner, states, versions
from gym.jobs.models import Job, WorkerHeartbeat
from gym.jobs.selectors import ALIVE
from gym.jobs.services import enqueue
from gym.jobs.worker import WorkerProcess, drain
from lmgym import __version__

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _as_new_process():
    yield
    lifecycle.closing.clear()
    lifecycle.left_to_newer = frozenset()


@pytest.fixture
def newer_worker():
    return WorkerHeartbeat.objects.create(id="new", host="h", pid=1, queues=["default"], version="99.0.0")


@pytest.fixture
def database_ahead(monkeypatch):
    applied = {("jobs", "0001_initial"): None, ("jobs", "9999_later"): None}
    monkeypatch.setattr(site_command, "_last_numbers", lambda: {"jobs": "0007"})
    monkeypatch.setattr(MigrationRecorder, "applied_migrations", lambda self: applied)


def test_a_worker_states_its_version():
    WorkerProcess(["default"])._register()
    assert WorkerHeartbeat.objects.get().version == __version__


def test_a_worker_beside_a_newer_one_claims_nothing_more(newer_worker, register):
    WorkerProcess(["default"])._beat()
    job = enqueue(register("k"), {})
    assert runner.run_next("default") is None
    job.refresh_from_db()
    assert job.state == "queued"


def test_a_worker_claims_nothing_after_the_database_was_upgraded(database_ahead):
    WorkerProcess(["default"])._beat()
    assert not lifecycle.may_claim("default")


def test_a_newer_worker_that_went_silent_does_not_stop_others(newer_worker):
    newer_worker.last_seen = timezone.now() - timedelta(minutes=2)
    newer_worker.save()
    WorkerProcess(["default"])._beat()
    assert lifecycle.may_claim("default")


def test_an_older_worker_keeps_the_queues_that_no_newer_one_serves(newer_worker, register):
    process = WorkerProcess(["default", "short"])
    process._beat()
    kind = register("k")
    enqueue(kind, {})
    enqueue(kind, {}, queue="short")
    assert runner.run_next("default") is None
    assert runner.run_next("short")
    newer_worker.delete()
    process._beat()
    assert runner.run_next("default")


@pytest.mark.parametrize(
    ("version", "other", "is_newer"),
    [
        ("1.0.0", "1.0.0rc1", True),
        ("1.0.0rc1", "1.0.0", False),
        ("0.10.0", "0.9.0", True),
        ("", "1.0", False),
    ],
)
def test_pre_releases_come_before_their_release(monkeypatch, version, other, is_newer):
    monkeypatch.setattr(versions, "__version__", other)
    WorkerHeartbeat.objects.create(id="new", host="h", pid=1, queues=["default"], version=version)
    assert bool(versions.newer_versions(ALIVE)) == is_newer


def test_a_drain_stops_when_a_newer_worker_starts(register, monkeypatch):
    monkeypatch.setattr(conf, "SIGN_SECONDS", 0.0)
    values = {"host": "h", "pid": 1, "queues": ["default"], "version": "99.0.0"}
    kind = register("k", lambda context: WorkerHeartbeat.objects.create(id="new", **values) and None)
    for _ in range(3):
        enqueue(kind, {})
    assert drain(["default"]) == 1
    assert Job.objects.filter(state="queued").count() == 2


def test_an_older_worker_does_not_start(newer_worker):
    with pytest.raises(CommandError, match=rf"LM Gym 99\.0\.0 is running; this is {__version__}"):
        call_command("worker", "--drain", "--queues", "default")


@pytest.mark.parametrize("command", ["migrate", "worker"])
def test_commands_refuse_a_database_of_a_newer_version(database_ahead, command):
    with pytest.raises(CommandError, match=r"A newer version .* \(migration jobs\.9999_later\)"):
        call_command(command)


def test_a_worker_above_its_memory_limit_is_replaced_between_jobs(settings, register):
    settings.GYM_WORKER_MEMORY_MB = 1
    process = WorkerProcess(["default"])

    def handler(context):
        process._beat()
        context.check()  # does not raise

    job = enqueue(register("k", handler), {})
    assert runner.run_next("default")
    job.refresh_from_db()
    assert job.state == "done"
    process._wait()
    assert process.must_restart
    enqueue(register("later"), {})
    assert states.claim_next("default", "another worker")


def test_a_worker_that_starts_above_its_memory_limit_runs_a_job_first(settings, monkeypatch):
    settings.GYM_WORKER_MEMORY_MB = 1
    monkeypatch.setattr(runner, "_has_run", False)
    WorkerProcess(["default"])._beat()
    assert lifecycle.may_claim("default")


def test_without_a_limit_memory_does_not_matter():
    WorkerProcess(["default"])._beat()
    assert lifecycle.may_claim("default")
