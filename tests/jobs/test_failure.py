import pytest

from gym.jobs import text
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
