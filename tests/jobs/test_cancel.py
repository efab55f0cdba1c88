import pytest

from gym.jobs import context as context_module
from gym.jobs import runner, states
from gym.jobs.errors import WrongState
from gym.jobs.services import enqueue, request_cancel
from gym.jobs.testing import run_pending

pytestmark = pytest.mark.django_db


def test_a_queued_job_is_cancelled_at_once(register, alice):
    job = request_cancel(enqueue(register("k"), {}), actor=alice)
    assert (job.state, job.finished is not None) == ("cancelled", True)
    assert "Cancelled by alice." in job.log
    assert run_pending() == []


def test_a_running_job_stops_at_its_next_check(register, alice, monkeypatch):
    monkeypatch.setattr(context_module, "CHECK_SECONDS", 0.0)
    reached = []

    def obedient(context):
        reached.append("before")
        request_cancel(job, actor=alice)
        try:
            context.check()
        except Exception:  # a handler's guard around one sentence must not swallow the cancellation
            reached.append("swallowed")
        reached.append("after")

    job = enqueue(register("k", obedient), {})
    run_pending()
    job.refresh_from_db()
    assert job.state == "cancelled"
    assert reached == ["before"]


def test_the_database_is_asked_at_most_once_a_second(register, django_assert_num_queries):
    enqueue(register("k"), {})
    context = context_module.JobContext(states.claim_next("default", "w"))
    with django_assert_num_queries(0):
        for _ in range(1000):
            context.check()


def test_a_failing_job_that_should_stop_is_cancelled_and_not_tried_again(register, alice):
    def fail(context):
        request_cancel(job, actor=alice)
        raise ValueError("too late")

    job = enqueue(register("k", fail), {})
    run_pending()
    job.refresh_from_db()
    assert job.state == "cancelled"


def test_a_job_that_finishes_before_it_sees_the_wish_is_done(register, alice):
    job = enqueue(register("k"), {})
    claimed = states.claim_next("default", "w")
    request_cancel(job, actor=alice)
    assert runner.run(claimed, heartbeat=False) == "done"


@pytest.mark.parametrize("state", ["done", "cancelled", "failed"])
def test_a_job_that_has_ended_cannot_be_cancelled(register, alice, state):
    from gym.jobs.errors import PermanentFailure

    def end(context):
        if state == "failed":
            raise PermanentFailure("no")

    job = enqueue(register("k", end), {})
    if state == "cancelled":
        request_cancel(job, actor=alice)
    run_pending()
    if state == "cancelled":
        assert request_cancel(job, actor=alice).state == "cancelled"  # cancelling twice is not an error
    else:
        with pytest.raises(WrongState, match=f"is {state}"):
            request_cancel(job, actor=alice)
