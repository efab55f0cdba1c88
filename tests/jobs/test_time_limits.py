"""Time limits of jobs, and attempts that do not stop when asked."""

from __future__ import annotations

import pytest

from gym.jobs import context as context_module
from gym.jobs import handlers, kinds, runner, states
from gym.jobs.context import JobContext
from gym.jobs.errors import Cancelled, LostLease, OutOfTime
from gym.jobs.models import Job
from gym.jobs.services import enqueue, request_cancel
from gym.jobs.testing import run_pending
from gym.jobs.worker import Watchdog


@pytest.fixture
def limit(register):
    """Register a handler with a time limit."""

    def add(kind, function, seconds):
        handlers.handler(kind, seconds=seconds)(function)
        return kind

    return add


def test_a_job_that_takes_longer_than_its_kind_may_fails_and_says_so(db, limit):
    def slow(context):
        while True:
            context.check()

    job = enqueue(limit("slow", slow, 0.05), {})
    run_pending()
    job.refresh_from_db()
    assert (job.state, job.tries) == ("failed", 1)
    assert job.error.startswith("Stopped after 0 seconds, the time limit for such jobs")


def test_a_limit_may_be_a_setting_and_every_other_kind_has_one_too(limit, settings):
    settings.GYM_JOB_SECONDS = 77
    limit("by setting", lambda context: None, lambda: settings.GYM_AGENT_RUN_SECONDS)
    settings.GYM_AGENT_RUN_SECONDS = 5
    assert kinds.time_limit("by setting") == 5
    assert kinds.time_limit("demo_runs") == 77


@pytest.fixture
def deaf(db, register, monkeypatch, settings):
    """An attempt whose handler never checks, as seen by the watchdog."""
    settings.GYM_JOB_REACT_SECONDS, settings.GYM_JOB_DEAF_SECONDS = 0, 1000
    enqueue(register("deaf"), {})
    context = JobContext(states.claim_next("default", "w"))
    monkeypatch.setattr(runner, "_running", {context})
    return context


def test_a_cancelled_job_whose_handler_does_not_stop_is_cancelled_all_the_same(deaf, people):
    watchdog = Watchdog()
    assert not watchdog.check()
    job = Job.objects.get(pk=deaf.job_id)
    assert job.state == "running"
    request_cancel(job, actor=people.alice)
    assert not watchdog.check()
    job.refresh_from_db()
    assert job.state == "cancelled"
    assert "the attempt was ended" in job.log
    with pytest.raises(LostLease):
        deaf.check()
    with pytest.raises(LostLease), deaf.finish():
        pass


def test_a_job_over_its_time_whose_handler_does_not_stop_fails_and_another_can_be_tried(deaf, people):
    deaf._until = 0.0
    watchdog = Watchdog()
    watchdog.check()
    job = Job.objects.get(pk=deaf.job_id)
    assert (job.state, job.error) == ("failed", str(OutOfTime(deaf.seconds)))


def test_a_worker_ends_only_when_a_handler_still_holds_its_thread_long_after(deaf, people, settings):
    watchdog = Watchdog()
    request_cancel(Job.objects.get(pk=deaf.job_id), actor=people.alice)
    assert not watchdog.check()
    settings.GYM_JOB_DEAF_SECONDS = 0
    assert watchdog.check()
    runner._running.clear()
    assert not Watchdog().check()


def test_a_worker_ends_if_an_attempt_that_lost_its_lease_never_returns(deaf, settings):
    watchdog = Watchdog()
    assert not watchdog.check()
    Job.objects.filter(pk=deaf.job_id).update(attempt=deaf.attempt + 1)  # another worker has it
    assert not watchdog.check()
    settings.GYM_JOB_DEAF_SECONDS = 0
    assert watchdog.check()
    assert Job.objects.get(pk=deaf.job_id).state == "running"


def test_a_handler_that_stops_in_time_is_left_alone(deaf, people, settings):
    settings.GYM_JOB_REACT_SECONDS = 1000
    request_cancel(Job.objects.get(pk=deaf.job_id), actor=people.alice)
    watchdog = Watchdog()
    assert not watchdog.check()
    assert Job.objects.get(pk=deaf.job_id).state == "running"


def test_waiting_for_another_machine_ends_with_the_cancellation(db, register, people, monkeypatch):
    monkeypatch.setattr(context_module, "CHECK_SECONDS", 0.0)
    job = enqueue(register("waits"), {})
    context = JobContext(states.claim_next("default", "w"))
    assert context.run_cancellable(lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        context.run_cancellable(lambda: 1 / 0)
    request_cancel(job, actor=people.alice)
    let_go = context_module.threading.Event()
    with pytest.raises(Cancelled):
        context.run_cancellable(let_go.wait)
    let_go.set()


@pytest.mark.process
def test_a_handler_that_hears_nothing_is_cancelled_within_ten_seconds_and_its_worker_ends(lab):
    lab.env |= {"LAB_STOP": "0.2", "LAB_REACT": "1", "LAB_DEAF": "1"}
    deaf = lab.enqueue("lab.deaf", {"seconds": 120})
    worker = lab.worker()
    lab.wait_for(deaf, "running")
    lab.ask("cancel", deaf)
    lab.wait_for(deaf, "cancelled", 10)
    assert worker.wait(10) == 1
    other = lab.enqueue("lab.chunks", {"n": 1})
    lab.worker()
    lab.wait_for(other, "done")


@pytest.mark.process
def test_work_that_waits_does_not_hold_up_work_that_computes(lab):
    lab.env |= {"LAB_QUEUE": "agents", "LAB_STOP": "0.2"}
    lab.queue = "agents"
    waiting = lab.enqueue("lab.deaf", {"seconds": 60})
    lab.start("worker")
    lab.wait_for(waiting, "running")
    lab.queue = "default"
    other = lab.enqueue("lab.chunks", {"n": 1})
    lab.wait_for(other, "done")
    assert lab.job(waiting)["state"] == "running"
