"""Long attempts yield to other users' jobs after their turn, without losing a try."""

from __future__ import annotations

import pytest

from gym.jobs import context as contexts
from gym.jobs import kinds, lifecycle, runner, states
from gym.jobs.models import Job, State
from gym.jobs.services import enqueue

pytestmark = pytest.mark.django_db


@pytest.fixture
def turn_is_over(settings):
    settings.GYM_JOB_TURN_SECONDS = 0


def run_one(kind: str) -> Job:
    job = states.claim_next("default", "w")
    assert job.kind == kind
    runner.run(job, heartbeat=False)
    job.refresh_from_db()
    return job


def test_after_its_turn_work_goes_back_to_the_queue_behind_that_of_others(register, alice, bob, turn_is_over):
    kind = register("long", lambda context: context.yield_turn())
    enqueue(kind, {}, owner=alice)
    bobs = enqueue(register("k"), {}, owner=bob)
    job = run_one(kind)
    assert (job.state, job.tries, job.attempt) == (State.QUEUED, 0, 1)
    assert states.claim_next("default", "w").pk == bobs.pk


def test_within_its_turn_it_goes_on(register, alice, bob):
    kind = register("long", lambda context: context.yield_turn())
    enqueue(kind, {}, owner=alice)
    enqueue(register("k"), {}, owner=bob)
    assert run_one(kind).state == State.DONE


def test_it_goes_on_when_only_own_work_waits(register, alice, turn_is_over):
    kind = register("long", lambda context: context.yield_turn())
    enqueue(kind, {}, owner=alice)
    enqueue(register("k"), {}, owner=alice)
    assert run_one(kind).state == State.DONE


def test_work_that_is_done_only_when_nothing_waits_comes_last_and_moves_nobody(
    register, alice, bob, monkeypatch, turn_is_over
):
    monkeypatch.setitem(kinds._kinds, "idle", kinds.JobKind("idle", only_when_idle=True))
    idle = enqueue(register("idle"), {})
    kind = register("long", lambda context: context.yield_turn())
    enqueue(kind, {}, owner=alice)
    assert run_one(kind).state == State.DONE
    assert states.claim_next("default", "w").pk == idle.pk


@pytest.fixture
def closing(monkeypatch):
    monkeypatch.setattr(contexts, "CLOSING_SECONDS", 0.0)
    lifecycle.closing.set()
    yield
    lifecycle.closing.clear()


def run_chunks(register, n: int) -> list[int]:
    """Run a resumable job of `n` chunks once; return the chunks that it stored."""
    stored = []

    def handler(context):
        for number in range(n):
            context.yield_turn()
            with context.transaction(brings_forward=True):
                stored.append(number)

    enqueue(register("long", handler), {})
    run_one("long")
    return stored


def test_a_worker_to_be_replaced_ends_resumable_jobs_after_a_chunk_without_losing_a_try(register, closing):
    assert run_chunks(register, 3) == [0]
    job = Job.objects.get()
    assert (job.state, job.tries, job.error) == (State.QUEUED, 0, "The worker was stopped.")


def test_a_worker_that_stops_ends_resumable_jobs_at_once(register):
    lifecycle.stopping.set()
    try:
        assert run_chunks(register, 3) == []
    finally:
        lifecycle.stopping.clear()
    assert Job.objects.get().state == State.QUEUED


def test_a_young_attempt_is_not_interrupted_for_the_replacement_of_its_worker(register, closing, monkeypatch):
    monkeypatch.setattr(contexts, "CLOSING_SECONDS", 60.0)
    assert run_chunks(register, 3) == [0, 1, 2]
