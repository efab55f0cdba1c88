import pytest
from django.contrib.auth.models import Group

from gym.jobs import reaper, runner, states
from gym.jobs.context import JobContext
from gym.jobs.errors import LostLease
from gym.jobs.models import Job
from gym.jobs.services import enqueue

pytestmark = pytest.mark.django_db


@pytest.fixture
def zombie(register, clock):
    """The context of an attempt whose lease expired and whose job another worker has claimed."""
    enqueue(register("k"), {})
    context = JobContext(states.claim_next("default", "slow"))
    clock.forward(61)
    assert reaper.reap_expired() == 1
    assert states.claim_next("default", "quick").attempt == 2
    return context


def test_a_zombie_cannot_write(zombie):
    with pytest.raises(LostLease), zombie.transaction():
        Group.objects.create(name="result")
    assert not Group.objects.exists()


def test_a_zombie_cannot_finish(zombie):
    with pytest.raises(LostLease), zombie.finish():
        Group.objects.create(name="result")
    assert not Group.objects.exists()
    assert Job.objects.get().state == "running"


def test_a_zombie_cannot_report_log_or_extend_its_lease(zombie):
    before = Job.objects.values().get()
    with pytest.raises(LostLease):
        zombie.progress(5, total=10)
    zombie.log("boo")
    zombie.beat()
    assert Job.objects.values().get() == before


def test_a_zombie_hears_about_it_at_its_next_check(zombie):
    zombie.refresh()
    with pytest.raises(LostLease):
        zombie.check()


def test_the_failure_of_a_zombie_is_nobodys_failure(zombie):
    assert states.end_attempt(states.fenced(zombie.job_id, zombie.attempt), "too late") is None
    assert Job.objects.get().state == "running"


def test_a_lost_lease_inside_the_handler_ends_the_attempt_quietly(register, clock):
    def slow(context):
        if context.attempt == 1:
            clock.forward(61)
            reaper.reap_expired()
        with context.finish():
            Group.objects.create(name=f"by attempt {context.attempt}")

    enqueue(register("k", slow), {})
    assert runner.run(states.claim_next("default", "w"), heartbeat=False) is None
    assert runner.run(states.claim_next("default", "w"), heartbeat=False) == "done"
    assert [group.name for group in Group.objects.all()] == ["by attempt 2"]


def test_results_and_done_are_one_transaction(register):
    def break_in_the_last_transaction(context):
        with context.finish():
            Group.objects.create(name="half")
            raise RuntimeError("power cut")

    job = enqueue(register("k", break_in_the_last_transaction), {}, max_attempts=1)
    runner.run(states.claim_next("default", "w"), heartbeat=False)
    job.refresh_from_db()
    assert job.state == "failed"
    assert not Group.objects.exists()


def test_a_handler_that_never_calls_finish_is_done_when_it_returns(register):
    enqueue(register("k"), {})
    assert runner.run(states.claim_next("default", "w"), heartbeat=False) == "done"


def test_finish_is_called_once(register):
    def twice(context):
        with context.finish():
            pass
        with pytest.raises(RuntimeError, match="already called"), context.finish():
            pass

    enqueue(register("k", twice), {})
    assert runner.run(states.claim_next("default", "w"), heartbeat=False) == "done"


def test_a_transaction_extends_the_lease(register, clock):
    enqueue(register("k"), {})
    context = JobContext(states.claim_next("default", "w"))
    for _ in range(3):
        clock.forward(50)
        with context.transaction():
            pass
    assert reaper.reap_expired() == 0
