"""Background work: claimed when nothing ordinary waits, and given up when something does."""

from __future__ import annotations

import pytest

from gym.jobs import runner, states
from gym.jobs.models import Job
from gym.jobs.selectors import position_in_queue
from gym.jobs.services import enqueue, request_cancel

pytestmark = pytest.mark.django_db


def postponed(register, owner=None) -> Job:
    def handler(context):
        with context.postpone():
            pass

    job = enqueue(register("first part", handler), {}, owner=owner)
    runner.run(states.claim_next("default", "w"), heartbeat=False)
    job.refresh_from_db()
    return job


def test_a_postponed_job_waits_with_fresh_tries(register):
    job = postponed(register)
    assert (job.state, job.priority, job.tries, job.attempt) == ("queued", Job.Priority.BACKGROUND, 0, 1)


def test_whoever_comes_later_goes_first(register, alice, bob):
    late = postponed(register, alice)
    kind = register("k")
    jobs = [enqueue(kind, {}, owner=owner) for owner in (bob, alice, bob)]
    assert position_in_queue(late) == 4
    assert [position_in_queue(job) for job in jobs] == [1, 2, 3]
    claimed = [states.claim_next("default", "w").pk for _ in range(4)]
    assert set(claimed[:3]) == {job.pk for job in jobs}
    assert claimed[3] == late.pk


def test_background_jobs_take_turns_as_others_do(register, alice, bob):
    jobs = [postponed(register, owner) for owner in (alice, alice, bob)]
    first = states.claim_next("default", "w")
    second = states.claim_next("default", "w")
    assert {first.owner, second.owner} == {alice, bob}
    assert states.claim_next("default", "w").pk in {job.pk for job in jobs}


def test_it_gives_way_and_loses_no_try(register):
    job = postponed(register)
    steps = []

    def handler(context):
        steps.append("one")
        context.give_way()
        enqueue("k", {})
        context.give_way()
        steps.append("never")

    register("first part", handler)
    register("k")
    assert runner.run(states.claim_next("default", "w"), heartbeat=False) == "queued"
    job.refresh_from_db()
    assert (steps, job.state, job.tries, job.error) == (["one"], "queued", 0, "")
    assert states.claim_next("default", "w").kind == "k"


def test_ordinary_work_never_gives_way(register):
    register("other")
    done = []

    def handler(context):
        enqueue("other", {})
        context.give_way()
        done.append(True)

    enqueue(register("k", handler), {})
    runner.run(states.claim_next("default", "w"), heartbeat=False)
    assert done


def test_a_job_that_was_asked_to_stop_is_cancelled_instead_of_postponed(register):
    def handler(context):
        request_cancel(Job.objects.get(pk=context.job_id), actor=None)
        with context.postpone():
            pass

    job = enqueue(register("k", handler), {})
    runner.run(states.claim_next("default", "w"), heartbeat=False)
    job.refresh_from_db()
    assert job.state == "cancelled"


def test_a_lost_attempt_postpones_nothing(register):
    def handler(context):
        Job.objects.filter(pk=context.job_id).update(attempt=9)
        with context.postpone():
            raise AssertionError("not reached")

    job = enqueue(register("k", handler), {})
    assert runner.run(states.claim_next("default", "w"), heartbeat=False) is None
    job.refresh_from_db()
    assert (job.state, job.priority) == ("running", Job.Priority.ORDINARY)
