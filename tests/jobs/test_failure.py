from contextlib import contextmanager

import pytest
from django.db import DatabaseError

from gym.jobs import runner, states, text
from gym.jobs.errors import PermanentFailure
from gym.jobs.models import Job
from gym.jobs.services import enqueue
from gym.jobs.testing import run_pending

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def at_once(settings):
    settings.GYM_JOB_RETRY_SECONDS = 0


def test_an_error_is_tried_three_times_and_then_fails_with_the_last_message(register):
    def fail(context):
        raise ValueError(f"attempt {context.attempt}")

    job = enqueue(register("k", fail), {})
    run_pending()
    job.refresh_from_db()
    assert (job.state, job.tries, job.error) == ("failed", 3, "ValueError: attempt 3")
    assert job.log.count("Traceback") == 3


def test_a_second_try_may_succeed(register):
    def fail_once(context):
        if context.attempt == 1:
            raise OSError("flaky")

    enqueue(register("k", fail_once), {})
    (job,) = run_pending()
    assert (job.state, job.tries, job.error) == ("done", 2, "")


def test_an_error_counts_as_a_try_even_if_the_job_got_a_step_further(register):
    def fail(context):
        with context.transaction(brings_forward=True):
            pass
        raise ValueError("boom")

    enqueue(register("k", fail), {}, max_attempts=1)
    (job,) = run_pending()
    assert (job.state, job.tries, job.error) == ("failed", 1, "ValueError: boom")


def test_a_permanent_failure_is_not_tried_again_and_reads_like_a_sentence(register):
    def refuse(context):
        raise PermanentFailure("The model refused all 12 sentences.")

    enqueue(register("k", refuse), {})
    (job,) = run_pending()
    assert (job.state, job.tries, job.error) == ("failed", 1, "The model refused all 12 sentences.")


def test_a_job_whose_handler_is_gone_fails_and_says_so(register):
    job = enqueue(register("k"), {})
    Job.objects.filter(pk=job.pk).update(kind="gone")
    (job,) = run_pending()
    assert job.state == "failed"
    assert "No handler is registered for jobs of kind 'gone'" in job.error


def test_tries_are_spaced_out(register, settings, clock):
    settings.GYM_JOB_RETRY_SECONDS = 5

    def fail(context):
        raise ValueError

    job = enqueue(register("k", fail), {})
    waits = []
    for _ in range(2):
        run_pending()
        job.refresh_from_db()
        waits.append(round((job.not_before - clock.now()).total_seconds()))
        clock.forward(waits[-1] + 1)
    assert waits == [5, 10]


def test_error_and_log_hold_no_terminal_escapes_and_no_nul(register):
    def fail(context):
        raise PermanentFailure("\x1b[31mred\x1b[0m \x00\x07 \x1b]0;title\x07 end \u202e")

    enqueue(register("k", fail), {})
    (job,) = run_pending()
    assert job.error == "red   end"


def test_error_and_log_are_capped(register):
    def fail(context):
        for _ in range(20):
            context.log("x" * 10_000)
        raise PermanentFailure("y" * 10_000)

    enqueue(register("k", fail), {})
    (job,) = run_pending()
    assert len(job.error) == text.MAX_ERROR
    assert len(job.log) == text.MAX_LOG


def test_an_error_without_a_message_shows_its_type():
    assert text.describe_error(KeyError()) == "KeyError"


def test_an_error_after_the_finish_does_not_unmake_the_results(register):
    def finish_then_fail(context):
        with context.finish():
            pass
        raise ValueError("afterwards")

    enqueue(register("k", finish_then_fail), {})
    (job,) = run_pending()
    assert (job.state, job.error) == ("done", "")


@pytest.fixture
def no_test_transaction(monkeypatch):
    """No open transaction around an attempt, as in a worker."""
    plain = type("C", (), {"in_atomic_block": False, "close": staticmethod(lambda: None)})
    monkeypatch.setattr(runner, "connection", plain)
    monkeypatch.setattr(runner, "close_old_connections", lambda: None)
    monkeypatch.setattr(runner, "WRITE_AGAIN_SECONDS", 0)


def refuse(monkeypatch, times):
    """Make this many writes fail when an attempt ends."""
    refusals, end_attempt = iter(range(times)), states.end_attempt

    def refused(*args, **how):
        if next(refusals, None) is not None:
            raise DatabaseError("read-only")
        return end_attempt(*args, **how)

    monkeypatch.setattr(states, "end_attempt", refused)


@pytest.mark.usefixtures("no_test_transaction")
def test_an_end_that_cannot_be_written_is_written_as_soon_as_it_can_be(register, monkeypatch):
    """If the end were not written, the job would wait until its lease expires."""
    job = enqueue(register("k", lambda context: 1 / 0), {}, max_attempts=1)
    refuse(monkeypatch, 5)
    run_pending()
    job.refresh_from_db()
    assert (job.state, job.error) == ("failed", "ZeroDivisionError: division by zero")
    assert job.log.count("Traceback") == 1


@pytest.mark.usefixtures("no_test_transaction")
def test_after_a_lease_the_job_is_left_to_the_reaper(register, monkeypatch, settings):
    settings.GYM_JOB_LEASE_SECONDS = 0
    enqueue(register("k", lambda context: 1 / 0), {})
    refuse(monkeypatch, 1)
    with pytest.raises(DatabaseError):
        run_pending()


def test_a_job_whose_lease_cannot_be_kept_goes_back_at_once(register, monkeypatch):
    """A heartbeat thread cannot be started when memory has run out. If the job did not go back at once, it
    would wait until its lease expires.
    """

    @contextmanager
    def no_thread(context):
        raise RuntimeError("can't start new thread")
        yield

    monkeypatch.setattr(runner, "_heartbeat", no_thread)
    job = enqueue(register("k"), {})
    runner.run_next("default")
    job.refresh_from_db()
    assert (job.state, job.error) == ("queued", "RuntimeError: can't start new thread")
