"""Heartbeats, tested with real processes and a database file, as they need a second thread and connection."""

import threading
import time

import pytest

from gym.jobs import runner
from gym.jobs.errors import LostLease


class FakeContext:
    job_id = "x"

    def __init__(self):
        self.beats = 0

    def beat(self):
        self.beats += 1
        if self.beats == 2:
            raise runner.DatabaseError("locked")


def test_it_beats_three_times_per_lease_and_survives_a_database_error(settings, monkeypatch, caplog):
    monkeypatch.setattr(runner, "connection", type("C", (), {"close": staticmethod(lambda: None)}))
    monkeypatch.setattr(runner, "connections", type("C", (), {"close_all": staticmethod(lambda: None)}))
    settings.GYM_JOB_LEASE_SECONDS = 0.06
    context = FakeContext()
    with runner._heartbeat(context):
        time.sleep(0.15)
    beats = context.beats
    assert beats >= 4
    assert "heartbeat of job x failed" in caplog.text
    time.sleep(0.05)
    assert context.beats == beats
    assert not [thread for thread in threading.enumerate() if thread.name == "heartbeat"]


def test_it_stops_when_the_handler_raises(settings, monkeypatch):
    monkeypatch.setattr(runner, "connections", type("C", (), {"close_all": staticmethod(lambda: None)}))
    with pytest.raises(LostLease), runner._heartbeat(FakeContext()):
        raise LostLease
    assert not [thread for thread in threading.enumerate() if thread.name == "heartbeat"]


@pytest.mark.process
def test_a_job_longer_than_its_lease_runs_once(lab):
    """3 s of silent work under a lease of 1.5 s and a frequent reaper."""
    job = lab.enqueue("lab.deaf", {"seconds": 3})
    lab.worker()
    assert lab.wait_for(job, "done")["attempt"] == 1
    assert lab.ask("receipts", job) == [-1]
