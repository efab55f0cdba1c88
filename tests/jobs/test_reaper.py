import pytest

from gym.jobs import reaper, states
from gym.jobs.context import JobContext
from gym.jobs.models import Job, Lock, WorkerHeartbeat
from gym.jobs.services import enqueue, request_cancel
from gym.jobs.testing import run_pending
from gym.jobs.worker import drain

pytestmark = pytest.mark.django_db


@pytest.fixture
def running(register):
    enqueue(register("k"), {})
    return states.claim_next("default", "w1")


def test_a_job_whose_worker_went_silent_goes_back_to_the_queue_with_a_message(running, clock, messages):
    clock.forward(61)
    assert reaper.reap() == 1
    running.refresh_from_db()
    assert (running.state, running.claimed_by, running.lease_until) == ("queued", "", None)
    assert "no heartbeat" in running.log
    assert messages == ["default"]


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
    assert "no heartbeat" in job.error


def test_a_lost_job_that_should_stop_is_cancelled(running, clock, alice):
    request_cancel(running, actor=alice)
    clock.forward(61)
    reaper.reap()
    assert Job.objects.get().state == "cancelled"


def test_a_heartbeat_between_look_and_deed_saves_the_job(running, clock):
    clock.forward(61)
    states.renew(running.pk, running.attempt)
    assert reaper.end_lost_attempt(running.pk, running.attempt, expired_only=True) is False


def test_a_dead_workers_jobs_come_back_without_waiting_for_the_lease(running):
    WorkerHeartbeat.objects.create(id="w1", host="h", pid=1)
    assert reaper.acquire_lock("w1", 60)
    assert reaper.release_dead_worker("w1") == 1
    assert Job.objects.get().state == "queued"
    assert not WorkerHeartbeat.objects.exists()
    assert reaper.acquire_lock("w2", 60)


def test_one_worker_reaps_at_a_time(clock):
    assert reaper.acquire_lock("a", 60)
    assert not reaper.acquire_lock("b", 60)
    assert reaper.acquire_lock("a", 60)
    clock.forward(61)
    assert reaper.acquire_lock("b", 60)
    assert not reaper.acquire_lock("a", 60)
    assert Lock.objects.count() == 1


def test_silent_workers_are_cleared(clock):
    WorkerHeartbeat.objects.create(id="w1", host="h", pid=1)
    reaper.reap()
    assert WorkerHeartbeat.objects.exists()
    clock.forward(3601)
    reaper.reap()
    assert not WorkerHeartbeat.objects.exists()


def test_what_was_queued_before_the_clock_was_set_back_is_due_at_once(register, clock):
    enqueue(register("k"), {})
    clock.forward(-3600)
    assert states.claim_next("default", "w") is None
    reaper.reap()
    assert states.claim_next("default", "w")


def test_a_worker_that_died_when_the_clock_was_set_back_has_one_lease_more(running, clock):
    clock.forward(-3600)
    assert reaper.reap() == 0
    clock.forward(61)
    assert reaper.reap() == 1


def test_the_reapers_lock_from_before_the_clock_was_set_back_counts_for_nothing(clock):
    assert reaper.acquire_lock("a", 60)
    clock.forward(-3600)
    assert reaper.acquire_lock("b", 60)
    assert not reaper.acquire_lock("a", 60)


def test_clocks_of_hosts_may_differ_by_a_lease(register, running, clock):
    kind = register("k", lambda context: 1 / 0)
    enqueue(kind, {})
    run_pending()
    before = list(Job.objects.order_by("pk").values_list("not_before", "lease_until"))
    assert reaper.acquire_lock("a", 60)
    clock.forward(-59)
    assert not reaper.acquire_lock("b", 60)
    reaper.reap()
    assert list(Job.objects.order_by("pk").values_list("not_before", "lease_until")) == before


def test_after_the_machine_slept_every_worker_can_renew_its_leases_first(register, monkeypatch, settings):
    settings.GYM_REAPER_SECONDS = 1.0
    rounds, waits = [], []
    thread = reaper.Reaper("w")
    monkeypatch.setattr(thread, "sweep", lambda interval: rounds.append(wall[0]))
    wall = [5_000.0]
    monkeypatch.setattr(reaper.time, "time", lambda: wall[0])
    monkeypatch.setattr(reaper.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(reaper.connections, "close_all", lambda: None)
    naps = iter([3_600.0, 0.0, None])

    def wait(seconds):
        waits.append(seconds)
        nap = next(naps)
        if nap is None:
            return True
        wall[0] += nap
        return False

    monkeypatch.setattr(thread.over, "wait", wait)
    thread.run()
    assert rounds == [5_000.0, 8_600.0]
    assert waits == [1.0, 30.0, 1.0]


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
    """The attempt that made progress is not one of the three tries."""
    job = enqueue(register("k"), {})
    with JobContext(states.claim_next("default", "w")).transaction(brings_forward=True):
        pass
    for _ in range(4):
        clock.forward(61)
        reaper.reap()
        states.claim_next("default", "w")
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("failed", 4)


def kill_workers_of(job, clock, times=3):
    """Kill this many workers that run the job; the supervisor reports how they died."""
    for _ in range(times):
        assert states.claim_next("default", "w").pk == job.pk
        assert reaper.release_dead_worker("w", -9) == 1
        clock.forward(20)
    job.refresh_from_db()
    return job


def test_a_job_that_kills_its_workers_fails_with_the_number_of_deaths_and_the_signal(register, clock):
    job = kill_workers_of(enqueue(register("k"), {}), clock)
    assert job.state == "failed"
    assert job.error == (
        "The worker died 3 times while running this job (killed by signal 9: often out of memory). "
        "The job will be tried once more when no worker has died for 5 minutes."
    )


def test_after_a_worker_died_other_jobs_go_first(register, clock):
    first, second = enqueue(register("k"), {}), enqueue("k", {})
    kill_workers_of(first, clock, times=1)
    clock.forward(-20)
    assert states.claim_next("default", "w").pk == second.pk
    clock.forward(6)
    assert states.claim_next("default", "w").pk == first.pk


def test_a_job_that_failed_only_because_workers_died_is_done_when_they_have_been_quiet(
    register, clock, messages
):
    job = kill_workers_of(enqueue(register("k"), {}), clock)
    reaper.reap()
    job.refresh_from_db()
    assert job.state == "failed"
    clock.forward(300)
    messages.clear()
    reaper.reap()
    job.refresh_from_db()
    assert (job.state, messages) == ("queued", ["default"])
    assert [job.state for job in run_pending()] == ["done"]


def test_a_job_that_kills_its_worker_after_that_too_stays_failed(register, clock):
    job = kill_workers_of(enqueue(register("k"), {}), clock)
    clock.forward(300)
    reaper.reap()
    kill_workers_of(job, clock, times=1)
    for _ in range(3):
        clock.forward(300)
        reaper.reap()
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("failed", 4)
    assert (
        job.error
        == "The worker died 4 times while running this job (killed by signal 9: often out of memory)."
    )


def test_a_death_of_any_worker_puts_the_extra_try_off_and_one_job_has_it_at_a_time(register, clock):
    kind = register("k")
    jobs = [kill_workers_of(enqueue(kind, {}), clock) for _ in range(2)]
    clock.forward(290)  # since the last death; longer since those of the first job
    states_now = lambda: [Job.objects.get(pk=job.pk).state for job in jobs]  # noqa: E731
    reaper.reap()
    assert states_now() == ["queued", "failed"]
    kill_workers_of(jobs[0], clock, times=1)
    reaper.reap()
    assert states_now() == ["failed", "failed"]
    clock.forward(300)
    reaper.reap()
    assert states_now() == ["failed", "queued"]


def test_workers_that_die_without_a_job_put_it_off_too(register, clock):
    job = kill_workers_of(enqueue(register("k"), {}), clock)
    clock.forward(300)
    WorkerHeartbeat.objects.create(id="w9", host="h", pid=1, queues=["default"], started=clock.now())
    assert not reaper.give_another_chance()
    clock.forward(301)
    assert reaper.give_another_chance()
    job.refresh_from_db()
    assert job.state == "queued"


def test_what_failed_by_an_error_is_not_tried_once_more(register, clock):
    def fail(context):
        raise ValueError("boom")

    job = kill_workers_of(enqueue(register("k", fail), {}), clock, times=2)
    run_pending()
    clock.forward(300)
    assert not reaper.give_another_chance()

    other = kill_workers_of(enqueue("k", {}), clock)
    clock.forward(300)
    assert reaper.give_another_chance()
    run_pending()
    clock.forward(300)
    assert not reaper.give_another_chance()
    assert set(Job.objects.filter(pk__in=[job.pk, other.pk]).values_list("state", "error")) == {
        ("failed", "ValueError: boom")
    }


@pytest.mark.parametrize("once", [True, False])
def test_a_worker_that_drains_the_queue_takes_lost_jobs_first(running, clock, once):
    clock.forward(61)
    assert drain(["default"], once=once) == 1
    assert Job.objects.get().state == "done"
