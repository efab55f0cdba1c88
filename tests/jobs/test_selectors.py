import pytest

from gym.jobs import selectors, states
from gym.jobs.models import WorkerHeartbeat
from gym.jobs.services import enqueue

pytestmark = pytest.mark.django_db


def summary(name):
    return next(row for row in selectors.queue_summary() if row.name == name)


def test_a_queue_without_a_worker_is_called_stuck(register):
    enqueue(register("k"), {})
    queue = summary("default")
    assert (queue.name, queue.queued, queue.running, queue.workers, queue.is_stuck) == (
        "default",
        1,
        0,
        0,
        True,
    )


def test_a_queue_with_a_living_worker_is_not_stuck(register, clock):
    enqueue(register("k"), {})
    WorkerHeartbeat.objects.create(id="w", host="h", pid=1, queues=["default"], last_seen=clock.now())
    assert summary("default").is_stuck is False
    clock.forward(60)
    assert summary("default").is_stuck is True
    assert summary("default").waiting_seconds == pytest.approx(60, abs=5)


def test_workers_show_what_they_are_running(register):
    WorkerHeartbeat.objects.create(id="w", host="h", pid=1, queues=["default"])
    job = enqueue(register("k"), {})
    states.claim_next("default", "w")
    (worker,) = selectors.workers()
    assert worker.alive
    assert [running.pk for running in worker.jobs] == [job.pk]


def test_the_number_of_queries_does_not_grow(register, django_assert_num_queries):
    for number in range(5):
        WorkerHeartbeat.objects.create(id=f"w{number}", host="h", pid=1)
        enqueue(register("k"), {})
    with django_assert_num_queries(2):
        selectors.workers()
    with django_assert_num_queries(2):
        selectors.queue_summary()
