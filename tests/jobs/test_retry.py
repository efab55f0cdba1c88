import pytest

from gym.jobs.errors import PermanentFailure, WrongState
from gym.jobs.services import enqueue, request_cancel, retry
from gym.jobs.testing import run_pending

pytestmark = pytest.mark.django_db


def test_a_failed_job_gets_fresh_tries_and_a_growing_attempt(register, alice):
    def fail_once(context):
        if context.attempt == 1:
            raise PermanentFailure("not yet")

    job = enqueue(register("k", fail_once), {})
    run_pending()
    job = retry(job, actor=alice)
    assert (job.state, job.tries, job.attempt, job.error, job.finished) == ("queued", 0, 1, "", None)
    run_pending()
    job.refresh_from_db()
    assert (job.state, job.tries, job.attempt) == ("done", 1, 2)
    assert "Queued again by alice." in job.log


def test_a_cancelled_job_can_be_tried_again(register, alice):
    job = request_cancel(enqueue(register("k"), {}), actor=alice)
    assert retry(job, actor=alice).cancel_requested is False
    assert [job.state for job in run_pending()] == ["done"]


@pytest.mark.parametrize("ran", [False, True])
def test_a_queued_or_done_job_cannot_be_tried_again(register, alice, ran):
    job = enqueue(register("k"), {})
    if ran:
        run_pending()
    with pytest.raises(WrongState, match="only a failed or cancelled job"):
        retry(job, actor=alice)
