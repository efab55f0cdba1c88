"""Requests that wait for jobs leave web server threads free for other requests."""

from __future__ import annotations

import time

import pytest

from gym.jobs import services
from gym.jobs.models import Job
from tests.factories import make_model


@pytest.fixture
def slept(monkeypatch):
    """Durations of the waiting requests' sleeps. The first sleep deletes the job."""
    calls = []

    def sleep(seconds: float) -> None:
        calls.append(seconds)
        Job.objects.all().delete()

    monkeypatch.setattr(time, "sleep", sleep)
    return calls


@pytest.fixture
def taken():
    """Take all waiting slots during the test."""
    for _ in range(services.MAX_WAITING_REQUESTS):
        assert services._waiting_slots.acquire(blocking=False)
    yield
    for _ in range(services.MAX_WAITING_REQUESTS):
        services._waiting_slots.release()


def test_where_enough_requests_wait_the_next_is_answered_at_once(client, people, slept, taken):
    make_model(people.alice, slug="m", backend="ngram")
    client.force_login(people.alice)
    body = {"model": "m", "sentences": ["No!"]}
    answer = client.post("/api/v1/score/", body, content_type="application/json")
    assert (answer.status_code, answer["Retry-After"]) == (202, "1")
    assert slept == []


def test_who_has_waited_makes_room_for_the_next(db, slept):
    for _ in range(services.MAX_WAITING_REQUESTS + 1):
        job = Job.objects.create(kind="score")
        services.wait_for_job(job.pk)
    assert len(slept) == services.MAX_WAITING_REQUESTS + 1
