"""Jobs run with the rights of their last requester at the time they start."""

from __future__ import annotations

import pytest

from gym.jobs import rights
from gym.jobs.errors import PermanentFailure
from gym.jobs.models import Job
from gym.jobs.services import enqueue, retry
from gym.jobs.testing import run_pending

pytestmark = pytest.mark.django_db


@pytest.fixture
def kind(register):
    """A kind of job that uses the house, which is alice's, and the garden, which is public."""

    def work(context):
        uses = {"the house": lambda person: person.username == "alice", "the garden": lambda person: True}
        rights.require(context, uses)

    return register("k", work)


def ended() -> tuple[str, str]:
    run_pending()
    job = Job.objects.get()
    return job.state, job.error


def test_who_may_use_everything_gets_it_done(kind, alice):
    enqueue(kind, {}, owner=alice)
    assert ended() == ("done", "")


def test_what_may_not_be_used_is_named_and_nobody_else_is(kind, bob):
    enqueue(kind, {}, owner=bob)
    state, error = ended()
    assert state == "failed"
    assert error.startswith("Refused: the user who requested this may no longer use the house.")
    assert "garden" not in error
    assert "bob" not in error


def test_it_is_refused_at_once_and_not_tried_again(kind, bob):
    enqueue(kind, {}, owner=bob)
    run_pending()
    assert Job.objects.get().tries == 1


def test_a_closed_account_gets_nothing_done(kind, alice):
    enqueue(kind, {}, owner=alice)
    alice.is_active = False
    alice.save()
    state, error = ended()
    assert state == "failed"
    assert "the account that requested this is closed" in error


def test_work_of_the_site_itself_is_nobodys_right(kind):
    enqueue(kind, {})
    assert ended() == ("done", "")


def test_who_puts_it_back_into_the_queue_answers_for_it(kind, alice, bob):
    job = enqueue(kind, {"run": 1}, owner=bob)
    assert ended()[0] == "failed"
    retry(job, actor=alice)
    assert ended() == ("done", "")
    job.refresh_from_db()
    assert (job.owner, job.payload["run"]) == (bob, 1)


def test_a_right_of_somebody_else_is_not_kept_for_the_owner(register, alice, bob):
    def breaks(context):
        rights.require(context, {"the house": lambda person: person == alice})
        raise PermanentFailure("broken")

    job = enqueue(register("k", breaks), {}, owner=bob)
    run_pending()
    for actor, said in ((alice, "broken"), (bob, "may no longer use the house")):
        retry(job, actor=actor)
        assert said in ended()[1]


def test_work_of_the_site_stays_that_when_somebody_retries_it(register, bob):
    def breaks(context):
        rights.require(context, {"the house": lambda person: False})
        raise PermanentFailure("broken")

    job = enqueue(register("k", breaks), {})
    run_pending()
    retry(job, actor=bob)
    assert ended() == ("failed", "broken")
