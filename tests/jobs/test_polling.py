from time import monotonic

import pytest
from django.db import connection

from gym.jobs import actors, polling, runner, states
from gym.jobs.models import Job
from gym.jobs.services import enqueue

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_waiting(settings):
    settings.GYM_JOB_POLL_SECONDS = 0


@pytest.fixture
def kind(register):
    return register("k")


@pytest.fixture
def consumer():
    return actors.polling_broker().consume("default")


def claim():
    return states.claim_next("default", "another worker")


def test_a_queued_job_is_a_wake_up_for_its_queue(consumer, kind):
    enqueue(kind, {})
    wake_up = next(consumer)
    assert (wake_up.actor_name, wake_up.args, wake_up.queue_name) == ("run_next", ("default",), "default")


def test_a_job_that_another_worker_claimed_is_none(consumer, kind):
    enqueue(kind, {})
    assert claim()
    assert next(consumer) is None


def test_jobs_of_another_queue_are_left_alone(consumer, kind, settings):
    settings.GYM_JOB_QUEUES = ["default", "gpu"]
    enqueue(kind, {}, queue="gpu")
    assert next(consumer) is None


def test_a_job_comes_when_it_is_due(consumer, kind, clock, monkeypatch):
    monkeypatch.setattr(polling, "UNCHANGED_SECONDS", 0)
    job = enqueue(kind, {})
    attempt = claim().attempt
    states.end_attempt(states.fenced(job.pk, attempt), "no luck", delay=5)
    assert next(consumer) is None
    clock.forward(6)
    assert next(consumer) is not None


def test_in_a_database_of_sqlite_that_nobody_wrote_to_it_does_not_look_again_at_once(consumer, monkeypatch):
    looks = []
    monkeypatch.setattr(
        polling.fairness, "claimable", lambda queue: looks.append(queue) or Job.objects.none()
    )
    assert [next(consumer) for _ in range(3)] == [None] * 3
    assert len(looks) == (1 if connection.vendor == "sqlite" else 3)
    monkeypatch.setattr(polling, "data_version", lambda: -1)
    next(consumer)
    assert len(looks) == (2 if connection.vendor == "sqlite" else 4)


def test_a_consumer_gives_no_more_than_there_are_threads(consumer, kind):
    enqueue(kind, {})
    enqueue(kind, {})
    first = next(consumer)
    assert next(consumer) is None
    consumer.ack(first)
    assert next(consumer) is not None


def test_a_wake_up_that_came_too_late_does_no_harm(consumer, kind):
    enqueue(kind, {})
    wake_up = next(consumer)
    assert claim()
    assert runner.run_next(*wake_up.args) is None


def test_after_a_failed_wake_up_it_looks_again_later(consumer, kind):
    """If the database accepts reads but no writes, the worker must not retry in a tight loop."""
    enqueue(kind, {})
    failed = next(consumer)
    consumer.broker.enqueue(
        failed._message, delay=60_000
    )  # dramatiq's Retries does this, and then acknowledges
    consumer.ack(failed)
    assert next(consumer) is None
    consumer.broker.look_again_at.clear()
    assert next(consumer) is not None


def test_after_a_failure_of_the_database_it_looks_again_soon(consumer, kind, monkeypatch):
    """It does not wait the three seconds that dramatiq pauses after an error."""
    enqueue(kind, {})
    with monkeypatch.context() as broken:
        broken.setattr(polling.fairness, "claimable", fail)
        broken.setattr(polling.connection, "close", lambda: None)
        assert next(consumer) is None
    assert next(consumer) is None
    monkeypatch.setattr(polling, "monotonic", lambda: monotonic() + polling.AFTER_ERROR_SECONDS)
    assert next(consumer) is not None


def fail(queue):
    raise polling.DatabaseError("gone")
