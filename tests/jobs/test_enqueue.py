import pytest
from django.db import transaction

from gym.accounts.errors import LimitReached
from gym.jobs.errors import UnknownKind, UnknownQueue
from gym.jobs.models import Job
from gym.jobs.services import enqueue

pytestmark = pytest.mark.django_db


def test_it_makes_a_queued_job(register, alice):
    job = enqueue(register("k"), {"a": 1}, owner=alice, title="Run", total=7)
    job.refresh_from_db()
    assert (job.state, job.payload, job.owner, job.title, job.total) == ("queued", {"a": 1}, alice, "Run", 7)
    assert (job.attempt, job.tries, job.max_attempts) == (0, 0, 3)


def test_a_rolled_back_request_leaves_no_job(register):
    kind = register("k")
    with transaction.atomic():
        enqueue(kind, {})
        transaction.set_rollback(True)
    assert not Job.objects.exists()


def test_it_refuses_a_kind_that_nobody_handles():
    with pytest.raises(UnknownKind, match="No handler is registered for jobs of kind 'misspelt'"):
        enqueue("misspelt", {})


def test_it_refuses_a_queue_that_no_worker_serves(register):
    with pytest.raises(UnknownQueue, match="GYM_JOB_QUEUES"):
        enqueue(register("k"), {}, queue="nowhere")


def test_it_limits_the_active_jobs_of_one_user(register, settings, alice, bob):
    settings.GYM_MAX_ACTIVE_JOBS_PER_USER = 2
    kind = register("k")
    enqueue(kind, {}, owner=alice)
    enqueue(kind, {}, owner=alice)
    with pytest.raises(LimitReached, match="the limit is 2"):
        enqueue(kind, {}, owner=alice)
    enqueue(kind, {}, owner=bob)
    enqueue(kind, {})


def test_it_limits_the_waiting_jobs_of_the_site(register, settings, alice, bob):
    settings.GYM_MAX_WAITING_JOBS = 2
    kind = register("k")
    for owner in (alice, None):
        enqueue(kind, {}, owner=owner)
    with pytest.raises(LimitReached, match="The queue of this site is full"):
        enqueue(kind, {}, owner=bob)
    enqueue(kind, {})  # a job without an owner


def test_finished_jobs_do_not_count_against_the_limit(register, settings, alice):
    from gym.jobs.testing import run_pending

    settings.GYM_MAX_ACTIVE_JOBS_PER_USER = 1
    kind = register("k")
    enqueue(kind, {}, owner=alice)
    run_pending()
    enqueue(kind, {}, owner=alice)


def test_two_handlers_for_one_kind_are_refused(register):
    from gym.jobs.handlers import handler

    register("k")
    with pytest.raises(ValueError, match="two handlers"):
        handler("k")(lambda context: None)
