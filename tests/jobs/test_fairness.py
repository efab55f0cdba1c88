import pytest

from gym.jobs import states
from gym.jobs.selectors import position_in_queue
from gym.jobs.services import enqueue

pytestmark = pytest.mark.django_db


def claim_all():
    order = []
    while (job := states.claim_next("default", "w")) is not None:
        order.append(job)
    return order


def test_a_flood_of_one_user_does_not_hold_up_another(register, alice, bob):
    kind = register("k")
    for _ in range(20):
        enqueue(kind, {}, owner=alice)
    states.claim_next("default", "w")
    job = enqueue(kind, {}, owner=bob)
    assert position_in_queue(job) == 1
    assert states.claim_next("default", "w").pk == job.pk


def test_users_take_turns(register, alice, bob):
    kind = register("k")
    for _ in range(3):
        enqueue(kind, {}, owner=alice)
    for _ in range(3):
        enqueue(kind, {}, owner=bob)
    assert [job.owner.username for job in claim_all()] == ["alice", "bob"] * 3


def test_jobs_without_an_owner_take_a_turn_too(register, alice):
    kind = register("k")
    for owner in (alice, alice, None):
        enqueue(kind, {}, owner=owner)
    assert [job.owner_id for job in claim_all()] == [alice.pk, None, alice.pk]


def test_the_position_is_the_one_at_which_the_job_is_claimed(register, alice, bob):
    kind = register("k")
    for owner in (alice, alice, bob, None, alice, None, bob, alice):
        enqueue(kind, {}, owner=owner)
    states.claim_next("default", "w")  # alice had a turn
    from gym.jobs.models import Job

    promised = {job.pk: position_in_queue(job) for job in Job.objects.filter(state="queued")}
    assert {job.pk: place for place, job in enumerate(claim_all(), 1)} == promised


def test_a_running_job_has_no_position(register):
    enqueue(register("k"), {})
    assert position_in_queue(states.claim_next("default", "w")) is None


def test_a_thousand_jobs_of_one_user_do_not_delay_anothers_first(register, alice, bob, settings):
    from gym.jobs.models import Job

    kind = register("k")
    settings.GYM_MAX_ACTIVE_JOBS_PER_USER = 0
    Job.objects.bulk_create(Job(kind=kind, owner=alice) for _ in range(1000))
    for _ in range(5):
        states.claim_next("default", "w")
    job = enqueue(kind, {}, owner=bob)
    assert position_in_queue(job) == 1
    assert states.claim_next("default", "w").pk == job.pk
    second = enqueue(kind, {}, owner=bob)
    claimed = [states.claim_next("default", "w").pk for _ in range(2)]
    assert second.pk in claimed
