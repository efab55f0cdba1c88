"""A worker that lacks a resource returns the job to the queue, and other workers claim it at once."""

from __future__ import annotations

import pytest

from gym.jobs import fairness, runner, states
from gym.jobs.errors import MissingResource
from gym.jobs.selectors import waited_for
from gym.jobs.services import enqueue
from gym.jobs.testing import run_pending
from gym.jobs.worker import drain

pytestmark = pytest.mark.django_db
FILES = "the files of the model x"


@pytest.fixture(autouse=True)
def as_a_new_worker(monkeypatch):
    """Forget missing resources before each test. Tests call the fixture to do so again, as a new worker
    would.
    """

    def start():
        monkeypatch.setattr(fairness, "_missing_until", {})

    start()
    return start


@pytest.fixture
def handed_back(register):
    """A job that was returned by a worker without its files."""

    def handler(context):
        if context.attempt == 1:
            raise MissingResource(FILES)

    job = enqueue(register("needs files", handler), {})
    runner.run_next("default")
    job.refresh_from_db()
    return job


def test_it_is_queued_with_all_its_tries_and_says_what_it_waits_for(handed_back):
    assert (handed_back.state, handed_back.tries, handed_back.waits_for) == ("queued", 0, FILES)
    assert handed_back.error == f"Waiting for a worker with {FILES}."
    assert waited_for(type(handed_back).objects.all()) == [(FILES, 1)]


def test_the_same_worker_does_not_take_it_again_at_once_and_does_others(handed_back, register):
    other = enqueue(register("k"), {})
    assert [job.pk for job in run_pending()] == [other.pk]
    assert states.claim_next("default", "w") is None


def test_another_worker_takes_it_at_once(handed_back, as_a_new_worker):
    as_a_new_worker()
    (job,) = run_pending()
    assert (job.pk, job.state, job.waits_for, job.error) == (handed_back.pk, "done", "", "")


def test_a_worker_looks_again_after_a_while(register, settings):
    settings.GYM_JOB_LOOK_AGAIN_SECONDS = 0
    seen = []

    def handler(context):
        seen.append(context.attempt)
        if context.attempt < 3:
            raise MissingResource(FILES)

    enqueue(register("k", handler), {})
    (job,) = run_pending()
    assert (job.state, seen) == ("done", [1, 2, 3])


def test_its_return_wakes_a_worker(register, messages):
    def handler(context):
        raise MissingResource(FILES)

    enqueue(register("needs files", handler), {})
    messages.clear()
    runner.run_next("default")
    assert messages == ["default"]


def test_draining_ends_and_leaves_it_to_others(handed_back):
    assert drain(["default"]) == 0
    handed_back.refresh_from_db()
    assert handed_back.state == "queued"


def test_a_job_that_should_stop_is_cancelled(register):
    def handler(context):
        states.cancel(context.job_id)
        raise MissingResource(FILES)

    enqueue(register("k", handler), {})
    (job,) = run_pending()
    assert job.state == "cancelled"
