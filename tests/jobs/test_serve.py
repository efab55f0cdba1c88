"""lmgym serve with the reduced site of the lab."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

pytestmark = pytest.mark.process


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def web_pid(port: int) -> int:
    """Return the id of the process that responds; 0 if none does."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/", timeout=2) as page:
            return int(page.read().split()[1])
    except OSError:
        return 0


def worker_pids(lab) -> list[int]:
    return [pid for _, pid in lab.ask("workers")]


def serve(lab, port: int) -> subprocess.Popen[bytes]:
    process = lab.start("serve", "--port", str(port))
    lab.until(lambda: web_pid(port) > 0 and len(worker_pids(lab)) == 1)
    return process


def is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_it_serves_works_restarts_what_dies_and_ends_cleanly_twice_in_a_row(lab, port):
    server = serve(lab, port)
    lab.until(lambda: f"LM Gym is at http://127.0.0.1:{port}/" in lab.read_log())

    job = lab.enqueue("lab.chunks", {"n": 40, "seconds": 0.05})
    lab.until(lambda: lab.ask("count_chunks") >= 3)
    (killed,) = worker_pids(lab)
    os.kill(killed, signal.SIGKILL)
    final = lab.wait_for(job, "done")
    assert final["attempt"] == 2
    assert "worker1 was killed by SIGKILL; starting it again" in lab.read_log()
    assert "[worker1] " in lab.read_log()

    old_web = web_pid(port)
    os.kill(old_web, signal.SIGKILL)
    lab.until(lambda: web_pid(port) not in (0, old_web))

    children = [web_pid(port), *worker_pids(lab)]
    server.terminate()
    assert server.wait(15) == 0
    assert not any(is_alive(pid) for pid in children)
    assert "stopped" in lab.read_log()

    server = serve(lab, port)
    server.send_signal(signal.SIGINT)
    assert server.wait(15) == 0


def test_a_job_that_kills_its_worker_fails_with_the_reason_and_the_others_are_done(lab, port):
    poison = lab.enqueue("lab.poison")
    others = [lab.enqueue("lab.chunks", {"n": 3}) for _ in range(3)]
    server = lab.start("serve", "--port", str(port))
    failed = lab.wait_for(poison, "failed", 40)
    assert "died 3 times while running this job (killed by signal 9: often out of memory)" in failed["error"]
    for job in others:
        lab.wait_for(job, "done")
    last = lab.enqueue("lab.chunks", {"n": 3})
    lab.wait_for(last, "done", 30)
    assert server.poll() is None


def test_no_child_outlives_a_killed_supervisor(lab, port):
    server = serve(lab, port)
    children = [web_pid(port), *worker_pids(lab)]
    server.kill()
    server.wait()
    lab.until(lambda: not any(is_alive(pid) for pid in children), 8)


def test_a_taken_port_is_explained(lab, port):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        before = time.monotonic()
        done = lab.run("serve", "--port", str(port))
    assert done.returncode == 1
    assert f"Cannot listen on 127.0.0.1:{port}" in done.stderr
    assert f"--port {port + 1}" in done.stderr
    assert time.monotonic() - before < 5


def test_a_database_that_cannot_be_prepared_ends_it_with_a_sentence(lab, port):
    lab.env["GYM_DATABASE_URL"] = "sqlite:////nowhere/at/all.sqlite3"
    done = lab.run("serve", "--port", str(port))
    assert done.returncode == 1
    assert "The database could not be prepared. The reason is printed above." in done.stderr
