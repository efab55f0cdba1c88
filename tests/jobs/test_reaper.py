import pytest

from gym.jobs import reaper, states
from gym.jobs.context import JobContext
from gym.jobs.models import Job, Lock, Message, WorkerHeartbeat
from gym.jobs.services import enqueue, request_cancel
from gym.jobs.testing import run_pending

pytestmark = pytest.mark.django_db


@pytest.fixture
def running(register):
    enqueue(register("k"), {})
    return states.claim_next("default", "w1")


def test_a_job_whose_worker_went_silent_goes_back_to_the_queue_with_a_message(running, clock):
    Message.objects.all().delete()
    clock.forward(61)
    assert reaper.reap() == 1
    running.refresh_from_db()
    assert (running.state, running.claimed_by, running.lease_until) == ("queued", "", None)
    assert "stopped answering" in running.log
    assert Message.objects.count() == 1


def test_a_job_with_a_living_worker_is_left_alone(running, clock):
    context = JobContext(running)
    for _ in range(4):
        clock.forward(40)
        context.beat()
        assert reaper.reap() == 0
    assert Job.objects.get().state == "running"


def test_the_third_lost_worker_fails_the_job_and_says_why(register, clock):
    job = enqueue(register("k"), {})
    for _ in range(3):
        states.claim_next("default", "w")
        clock.forward(61)
        reaper.reap()
    job.refresh_from_db()
    assert (job.state, job.tries) == ("failed", 3)
    assert "stopped answering" in job.error


def test_a_lost_job_that_should_stop_is_cancelled(running, clock, alice):
    request_cancel(running, actor=alice)
    clock.forward(61)
    reaper.reap()
    assert Job.objects.get().state == "cancelled"


def test_a_heartbeat_between_look_and_deed_saves_the_job(running, clock):
    clock.forward(61)
    states.renew(running.pk, running.attempt)
    assert reaper.end_lost_attempt(running.pk, running.attempt, expired_only=True) is False


def test_a_queued_job_without_a_message_gets_one_after_a_minute(register, clock):
    kind = register("k")
    for _ in range(3):
        enqueue(kind, {})
    Message.objects.all().delete()
    assert reaper.resend_wakeups() == 0
    clock.forward(61)
    assert reaper.resend_wakeups() == 3
    assert reaper.resend_wakeups() == 0


def test_a_long_queue_does_not_pile_up_messages(register, clock):
    kind = register("k")
    for _ in range(5):
        enqueue(kind, {})
    for _ in range(10):
        clock.forward(300)
        reaper.reap()
    assert Message.objects.count() == 5


def test_a_dead_workers_jobs_come_back_without_waiting_for_the_lease(running):
    WorkerHeartbeat.objects.create(id="w1", host="h", pid=1)
    assert reaper.hold_lock("w1", 60)
    assert reaper.release_dead_worker("w1") == 1
    assert Job.objects.get().state == "queued"
    assert not WorkerHeartbeat.objects.exists()
    assert reaper.hold_lock("w2", 60)


def test_one_worker_reaps_at_a_time(clock):
    assert reaper.hold_lock("a", 60)
    assert not reaper.hold_lock("b", 60)
    assert reaper.hold_lock("a", 60)
    clock.forward(61)
    assert reaper.hold_lock("b", 60)
    assert not reaper.hold_lock("a", 60)
    assert Lock.objects.count() == 1


def test_old_dead_messages_and_silent_workers_are_cleared(clock):
    Message.objects.create(queue="default", body="{}", dead_at=clock.now())
    WorkerHeartbeat.objects.create(id="w1", host="h", pid=1)
    reaper.reap()
    assert Message.objects.exists()
    clock.forward(8 * 86_400)
    reaper.reap()
    assert not Message.objects.exists()
    assert not WorkerHeartbeat.objects.exists()


def test_after_the_machine_slept_nothing_is_reaped_in_the_first_round(register, monkeypatch):
    rounds = []
    thread = reaper.Reaper("w")
    monkeypatch.setattr(thread, "once", lambda interval: rounds.append(wall[0]))
    wall = [5_000.0]
    monkeypatch.setattr(reaper.time, "time", lambda: wall[0])
    monkeypatch.setattr(reaper.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(reaper.connections, "close_all", lambda: None)
    naps = iter([3_600.0, 0.0, None])

    def wait(seconds):
        nap = next(naps)
        if nap is None:
            return True
        wall[0] += nap
        return False

    monkeypatch.setattr(thread.over, "wait", wait)
    thread.run()
    assert rounds == [5_000.0, 8_600.0]


def test_a_released_job_loses_no_try(running):
    states.end_attempt(states.fenced(running.pk, running.attempt), "stopped", keep_try=True)
    job = Job.objects.get()
    assert (job.state, job.tries, job.attempt) == ("queued", 0, 1)
    assert [job.state for job in run_pending()] == ["done"]


@pytest.mark.parametrize(("forward", "state"), [(True, "queued"), (False, "failed")])
def test_lost_workers_that_brought_the_job_forward_do_not_use_up_its_tries(register, clock, forward, state):
    job = enqueue(register("k"), {})
    for _ in range(5):
        claimed = states.claim_next("default", "w")
        if claimed is None:
            break
        with JobContext(claimed).transaction(brings_forward=forward):
            pass
        clock.forward(61)
        reaper.reap()
    job.refresh_from_db()
    assert job.state == state


def test_a_job_that_dies_at_the_same_place_three_times_fails_although_it_once_got_forward(register, clock):
    job = enqueue(register("k"), {})
    with JobContext(states.claim_next("default", "w")).transaction(brings_forward=True):
        pass
    for _ in range(3):
        clock.forward(61)
        reaper.reap()
        states.claim_next("default", "w")
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("failed", 3)
