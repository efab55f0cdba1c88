"""A worker that freezes while writing results blocks others only briefly, on PostgreSQL."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.service, pytest.mark.process]


@pytest.fixture
def lab(make_lab):
    return make_lab("postgresql", "database")


def wait_until_frozen(lab, worker) -> None:
    """Wait until the worker has stopped in its transaction (state T in /proc)."""
    stat = Path(f"/proc/{worker.pid}/stat")
    lab.until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")


def test_another_worker_does_its_job_and_it_finds_nothing_to_write_when_it_wakes(lab):
    job = lab.enqueue("lab.frozen")
    frozen = lab.worker()
    wait_until_frozen(lab, frozen)
    lab.worker()
    done = lab.wait_for(job, "done", 10)
    assert (done["attempt"], lab.ask("receipts", job)) == (2, [2])
    os.kill(frozen.pid, signal.SIGCONT)
    later = lab.enqueue("lab.chunks", {"n": 1})
    lab.wait_for(later, "done")
    lab.until(lambda: "lost" in lab.read_log() or "terminating connection" in lab.read_log())
    assert lab.ask("receipts", job) == [2]


def test_who_cancels_its_job_is_answered_within_the_time_for_a_lock(lab):
    lab.env["LAB_LEASE"] = "30"  # so the frozen session keeps its locks for ten seconds
    job = lab.enqueue("lab.frozen")
    wait_until_frozen(lab, lab.worker())
    with pytest.raises(AssertionError, match="lock timeout"):  # else it waits for the locks and succeeds
        lab.ask("cancel", job)


class Wire:
    """Proxy to PostgreSQL that can be cut: then nothing passes, and neither side is notified."""

    def __init__(self) -> None:
        self.passes = threading.Event()
        self.passes.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", 5432))
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._copy, args=(one, other), daemon=True).start()

    def _copy(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(65_536):
                self.passes.wait()
                other.sendall(data)
            self.passes.wait()
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.listener.close()
    wire.passes.set()


def test_a_worker_cut_off_from_the_database_loses_its_job_to_another(lab, wire):
    direct = lab.env["GYM_DATABASE_URL"]
    job = lab.enqueue("lab.chunks", {"n": 40, "seconds": 0.03})
    lab.env["GYM_DATABASE_URL"] = direct.replace(":5432", f":{wire.port}")
    lab.worker()
    lab.until(lambda: len(lab.ask("chunks", job)) >= 3)
    wire.passes.clear()
    lab.env["GYM_DATABASE_URL"] = direct
    lab.worker()
    lab.wait_for(job, "done", 20)
    wire.passes.set()
    later = [lab.enqueue("lab.chunks", {"n": 1}) for _ in range(3)]
    for one in later:
        lab.wait_for(one, "done")
    assert len(lab.ask("chunks", job)) == 40
    assert len(lab.ask("receipts", job)) == 1
