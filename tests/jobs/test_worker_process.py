"""Real worker processes on a database file: killed, stopped, orphaned, racing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from gym.jobs import lifecycle, worker
from gym.jobs.worker import WorkerProcess
from tests.jobs.lab.values import expected_chunks

pytestmark = pytest.mark.process


@pytest.mark.long
def test_ten_kills_lose_nothing_and_double_nothing(lab):
    """After ten kills with SIGKILL the results equal those of an undisturbed run.

    Three tries are enough, because every worker completes a few chunks before it dies.
    """
    n = 80
    calm = lab.enqueue("lab.chunks", {"n": n})
    assert lab.run("worker", "--drain").returncode == 0
    job = lab.enqueue("lab.chunks", {"n": n, "seconds": 0.02})
    previous: list[str] = []
    for kill in range(10):
        before = lab.ask("count_chunks")
        worker = lab.worker("--id", f"w{kill}", *previous)
        lab.until(lambda before=before: lab.ask("count_chunks") >= before + 3)
        worker.kill()
        worker.wait()
        previous = ["--replaces", f"w{kill}"]
    assert lab.job(job)["state"] == "running"
    lab.worker(*previous)
    final = lab.wait_for(job, "done")
    assert final["attempt"] == 11
    assert lab.ask("chunks", job) == lab.ask("chunks", calm) == expected_chunks(n)
    assert lab.ask("receipts", job) == lab.ask("receipts", calm)


def test_a_job_of_a_killed_worker_is_found_by_the_lease_alone(lab):
    """The death of the worker is not reported; another worker notices when the lease expires."""
    job = lab.enqueue("lab.chunks", {"n": 20, "seconds": 0.05})
    worker = lab.worker()
    lab.until(lambda: lab.ask("count_chunks") >= 2)
    worker.kill()
    lab.worker()
    final = lab.wait_for(job, "done")
    assert final["attempt"] == 2
    assert "no heartbeat" in final["log"]
    assert lab.ask("chunks", job) == expected_chunks(20)


def test_a_worker_that_is_told_of_a_death_takes_over_at_once(lab):
    """It waits neither for the lease of 60 s nor for a replacement."""
    lab.env["LAB_LEASE"] = "60"
    job = lab.enqueue("lab.chunks", {"n": 1000, "seconds": 0.05})
    dying = lab.worker("--id", "w1")
    lab.wait_for(job, "running")
    theirs, ours = os.pipe()
    lab.worker("--deaths", str(theirs), pass_fds=(theirs,))
    lab.until(lambda: len(lab.ask("workers")) == 2)
    dying.kill()
    os.write(ours, b"w1 -9\n")
    lab.until(lambda: lab.job(job)["attempt"] == 2)
    assert "killed by signal 9" in lab.job(job)["log"]
    os.close(ours)


def test_who_takes_a_dead_ones_place_frees_its_jobs_then_imports_then_claims(monkeypatch):
    """While the replacement imports, other workers run the released jobs."""
    done = []

    def note(name):
        return lambda *args, **kwargs: done.append(name) or []

    monkeypatch.setattr(worker, "release_dead_worker", note("frees"))
    for name in ("_listen_to_signals", "_register", "_wait", "_shut_down"):
        monkeypatch.setattr(WorkerProcess, name, note("-"))
    monkeypatch.setattr(WorkerProcess, "_start_workers", note("claims"))
    monkeypatch.setattr(worker.Reaper, "start", note("-"))
    monkeypatch.setattr(lifecycle, "stopping", threading.Event())
    imports = note("imports")
    worker.worker_replaced.connect(imports)
    monkeypatch.setattr(worker.worker_replaced, "receivers", worker.worker_replaced.receivers[-1:])
    monkeypatch.setattr(worker.worker_signed_in, "receivers", [])
    WorkerProcess(["default"], replaces="w1").run()
    assert [name for name in done if name != "-"] == ["frees", "imports", "claims"]
    done.clear()
    WorkerProcess(["default"]).run()
    assert [name for name in done if name != "-"] == ["claims"]


def test_draining_takes_the_job_of_a_killed_worker_and_leaves_that_of_a_living_one(lab):
    lost = lab.enqueue("lab.chunks", {"n": 10, "seconds": 0.05})
    killed = lab.worker()
    lab.until(lambda: lab.ask("count_chunks") >= 2)
    killed.kill()
    assert lab.run("worker", "--drain").stdout == "Job attempts run: 1\n"
    assert lab.job(lost)["state"] == "done"
    assert lab.ask("chunks", lost) == expected_chunks(10)

    long = lab.enqueue("lab.deaf", {"seconds": 30})
    lab.worker()
    lab.wait_for(long, "running")
    assert lab.run("worker", "--drain").stdout == "Job attempts run: 0\n"
    assert lab.job(long)["state"] == "running"


def test_a_job_that_kills_its_worker_fails_after_three_workers(lab):
    job = lab.enqueue("lab.poison")
    healthy = lab.enqueue("lab.chunks", {"n": 3})
    deaths = 0
    previous: list[str] = []
    while lab.job(job)["state"] != "failed" and deaths < 6:
        worker = lab.worker("--id", f"w{deaths}", *previous)
        lab.until(lambda w=worker: w.poll() is not None or lab.job(job)["state"] == "failed")
        previous = ["--replaces", f"w{deaths}"]
        deaths += worker.poll() is not None
    assert deaths == 3
    assert "no heartbeat" in lab.job(job)["error"]
    lab.wait_for(healthy, "done")


def test_sigterm_gives_the_job_back_and_keeps_what_is_done(lab):
    job = lab.enqueue("lab.chunks", {"n": 30, "seconds": 0.05})
    worker = lab.worker()
    lab.until(lambda: lab.ask("count_chunks") >= 3)
    assert len(lab.ask("workers")) == 1
    worker.terminate()
    assert worker.wait(10) == 0
    row = lab.job(job)
    assert (row["state"], row["attempt"], row["tries"]) == ("queued", 1, 0)
    assert lab.ask("workers") == []
    lab.worker()
    lab.wait_for(job, "done")
    assert lab.ask("chunks", job) == expected_chunks(30)


def test_a_handler_that_does_not_listen_is_left_behind_after_the_grace_period(lab):
    lab.env["LAB_STOP"] = "0.5"
    job = lab.enqueue("lab.deaf", {"seconds": 30})
    worker = lab.worker()
    lab.wait_for(job, "running")
    worker.terminate()
    assert worker.wait(10) == 0
    row = lab.job(job)
    assert (row["state"], row["tries"]) == ("queued", 0)
    assert lab.ask("receipts", job) == []


def test_a_second_signal_ends_it_at_once(lab):
    job = lab.enqueue("lab.deaf", {"seconds": 30})
    worker = lab.worker()
    lab.wait_for(job, "running")
    worker.terminate()
    time.sleep(0.3)
    before = time.monotonic()
    worker.send_signal(signal.SIGINT)
    assert worker.wait(5) == 128 + signal.SIGINT
    assert time.monotonic() - before < 2


def test_a_signal_in_the_middle_of_anything_cannot_block():
    """The signal handler interrupts the main thread anywhere, perhaps while it holds the lock of an Event."""
    process = WorkerProcess(["default"])
    with lifecycle.stopping._cond:
        handler = threading.Thread(target=process._on_signal, args=(signal.SIGTERM, None), daemon=True)
        handler.start()
        handler.join(2)
        assert not handler.is_alive()
    assert process.signals == 1


def test_a_running_job_is_cancelled_within_two_seconds(lab):
    job = lab.enqueue("lab.chunks", {"n": 1000, "seconds": 0.05})
    lab.worker()
    lab.until(lambda: lab.ask("count_chunks") >= 2)
    lab.ask("cancel", job)
    lab.wait_for(job, "cancelled", 3)
    assert lab.ask("receipts", job) == []


def test_two_workers_share_the_queue_and_no_job_runs_twice(lab):
    jobs = [lab.enqueue("lab.chunks", {"n": 3, "seconds": 0.01}) for _ in range(20)]
    lab.ask("wake", "default", 20)  # with duplicates of every message
    lab.worker()
    lab.worker()
    lab.until(lambda: lab.ask("states") == {"done": 20}, 20, lambda: str(lab.ask("states")))
    for job in jobs:
        assert lab.ask("chunks", job) == expected_chunks(3)
        assert len(lab.ask("receipts", job)) == 1
        assert lab.job(job)["attempt"] == 1


def test_a_job_goes_to_the_worker_that_has_its_files(lab):
    """Workers without the files try the job once each, and still run the other jobs."""
    for _ in range(2):
        lab.worker()
    picky = lab.enqueue("lab.picky")
    other = lab.enqueue("lab.chunks", {"n": 3})
    lab.until(lambda: lab.job(picky)["attempt"] == 2)
    lab.wait_for(other, "done")
    time.sleep(1)  # three rounds of the reaper
    assert (lab.job(picky)["state"], lab.job(picky)["attempt"]) == ("queued", 2)
    left = lab.run("worker", "--drain").stdout
    assert "Some jobs were left for a worker with the files of the model x." in left
    lab.env["LAB_FILES"] = "there"
    lab.worker()
    assert lab.wait_for(picky, "done")["attempt"] == 4


def test_a_worker_ends_when_its_parent_is_gone(lab):
    """The parent is killed with SIGKILL; the worker notices that it was orphaned and stops as on SIGTERM."""
    pid_file = lab.folder / "pid"
    script = (
        "import os, subprocess, sys, time; "
        "p = subprocess.Popen(sys.argv[2:] + ['--parent', str(os.getpid())], start_new_session=True); "
        "open(sys.argv[1], 'w').write(str(p.pid)); time.sleep(60)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(pid_file), *lab.command("worker")], env=lab.env, cwd="/"
    )
    lab.until(lambda: len(lab.ask("workers")) == 1)
    parent.kill()
    parent.wait()
    lab.until(lambda: lab.ask("workers") == [], 5)
    pid = int(pid_file.read_text())
    lab.until(lambda: not is_running(pid), 5)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/status") as status:
        return "State:\tZ" not in status.read()


def test_once_runs_one_job_and_drain_all_of_them(lab):
    jobs = [lab.enqueue("lab.chunks", {"n": 1}) for _ in range(3)]
    flaky = lab.enqueue("lab.fail", {"message": "flaky", "times": 1})
    assert lab.run("worker", "--once").stdout == "Job attempts run: 1\n"
    assert [lab.job(job)["state"] for job in jobs] == ["done", "queued", "queued"]
    assert lab.run("worker", "--drain").stdout == "Job attempts run: 4\n"
    assert lab.ask("states") == {"done": 4}
    assert lab.job(flaky)["tries"] == 2


def test_a_queue_that_is_not_there_is_named(lab):
    done = lab.run("worker", "--queues", "gpu")
    assert "Not in GYM_JOB_QUEUES: gpu. Choose from: default." in done.stderr


def test_a_worker_imports_no_torch(lab):
    code = "import django, sys; django.setup(); import gym.jobs.worker; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=lab.env, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"
