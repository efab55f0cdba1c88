"""The same guarantees for every database with every broker. SQLite with our own broker is in tests/jobs."""

from __future__ import annotations

import pytest

from tests.jobs.lab.bench import Lab
from tests.jobs.lab.values import expected_chunks

pytestmark = [pytest.mark.service, pytest.mark.process]


@pytest.mark.parametrize(
    ("database", "broker", "kills"),
    [
        pytest.param("sqlite", "redis", 1, marks=pytest.mark.long),
        pytest.param("sqlite", "rabbitmq", 1, marks=pytest.mark.long),
        ("postgresql", "database", 1),
        ("postgresql", "redis", 2),
        ("postgresql", "rabbitmq", 2),
    ],
)
def test_jobs_survive_what_happens_to_them(make_lab, database, broker, kills):
    lab = make_lab(database, broker)
    a_rolled_back_request_leaves_nothing(lab)
    two_workers_share_doubled_messages(lab)
    a_failing_job_is_tried_three_times(lab)
    queued_and_running_jobs_can_be_cancelled(lab)
    stop(lab)
    if broker != "database":
        jobs_are_found_without_messages(lab)
        stop(lab)
    a_killed_worker_loses_and_doubles_nothing(lab, kills)


def test_a_worker_survives_a_restart_of_the_database(make_lab, cut_connections):
    lab = make_lab("postgresql", "database")
    job = lab.enqueue("lab.chunks", {"n": 60, "seconds": 0.03})
    worker = lab.worker()
    lab.until(lambda: len(lab.ask("chunks", job)) >= 3)
    cut_connections(lab)
    later = lab.enqueue("lab.chunks", {"n": 1})
    lab.wait_for(job, "done")
    lab.wait_for(later, "done")
    assert worker.poll() is None
    assert lab.ask("chunks", job) == expected_chunks(60)


def stop(lab: Lab) -> None:
    """End all workers gracefully."""
    for process in lab.processes:
        process.terminate()
    for process in lab.processes:
        assert process.wait(20) == 0, lab.read_log()[-6000:]
    lab.processes.clear()


def a_rolled_back_request_leaves_nothing(lab: Lab) -> None:
    lab.ask("enqueue_and_roll_back", "lab.chunks", {"n": 1}, queue=lab.queue)
    assert lab.ask("states") == {}
    assert lab.ask("ready", lab.queue) == 0


def two_workers_share_doubled_messages(lab: Lab) -> None:
    jobs = [lab.enqueue("lab.chunks", {"n": 3, "seconds": 0.01}) for _ in range(8)]
    assert lab.ask("ready", lab.queue) == 8
    lab.ask("wake", lab.queue, 8)
    lab.worker()
    lab.worker()
    lab.until(lambda: lab.ask("states") == {"done": 8}, 20, lambda: str(lab.ask("states")))
    for job in jobs:
        assert lab.ask("chunks", job) == expected_chunks(3)
        assert len(lab.ask("receipts", job)) == 1
        assert lab.job(job)["attempt"] == 1


def a_failing_job_is_tried_three_times(lab: Lab) -> None:
    failing = lab.enqueue("lab.fail", {"message": r"nul \x00 and \ud800 surrogate"})
    final = lab.wait_for(failing, "failed")
    assert (final["tries"], final["error"]) == (3, "ValueError: nul  and ? surrogate")
    lab.ask("retry", failing)
    lab.until(lambda: lab.job(failing)["attempt"] == 6)
    assert lab.wait_for(failing, "failed")["tries"] == 3


def queued_and_running_jobs_can_be_cancelled(lab: Lab) -> None:
    long = [lab.enqueue("lab.chunks", {"n": 1000, "seconds": 0.05}) for _ in range(3)]
    lab.until(lambda: lab.ask("states").get("running") == 2)
    for job in long:
        lab.ask("cancel", job)
    for job in long:
        lab.wait_for(job, "cancelled", 4)


def jobs_are_found_without_messages(lab: Lab) -> None:
    jobs = [lab.enqueue("lab.chunks", {"n": 1}) for _ in range(3)]
    lab.ask("lose_messages", lab.queue)
    lab.worker()
    for job in jobs:
        lab.wait_for(job, "done")


def a_killed_worker_loses_and_doubles_nothing(lab: Lab, kills: int) -> None:
    """The first death is detected by the lease alone; the others are reported, as by the supervisor."""
    n = 30
    previous: list[str] = []
    job = lab.enqueue("lab.chunks", {"n": n, "seconds": 0.02})
    for kill in range(kills):
        before = len(lab.ask("chunks", job))
        worker = lab.worker("--id", f"{lab.queue}-{kill}", *previous)
        lab.until(lambda before=before: len(lab.ask("chunks", job)) >= before + 3)
        worker.kill()
        worker.wait()
        lab.processes.remove(worker)
        previous = ["--replaces", f"{lab.queue}-{kill}"] if kill else []
    lab.worker(*previous)
    final = lab.wait_for(job, "done")
    assert final["attempt"] == kills + 1
    assert lab.ask("chunks", job) == expected_chunks(n)
    assert lab.ask("receipts", job) == [sum(value for _, value in expected_chunks(n))]
