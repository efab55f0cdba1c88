"""Queues whose jobs users wait for."""

from __future__ import annotations

import os

import pytest

from gym.jobs import conf
from gym.jobs.worker import WorkerProcess


@pytest.fixture
def lanes(monkeypatch, settings):
    """`lanes(queues, threads=1)` returns (queues, threads) of every dramatiq worker that a worker process
    starts.
    """
    settings.GYM_JOB_QUEUES = ("default", "long", "preview")
    settings.GYM_JOB_QUICK_QUEUES = ("preview",)
    started = []
    monkeypatch.setattr(
        WorkerProcess,
        "_start_worker",
        lambda self, queues, threads: started.append((queues, threads)),
    )

    def start(queues, threads=1):
        started.clear()
        WorkerProcess(queues, threads=threads)._start_workers()
        return list(started)

    return start


def test_a_quick_queue_has_a_thread_that_nothing_else_uses(lanes):
    assert lanes(["default", "long", "preview"], threads=3) == [(["default", "long"], 3), (["preview"], 1)]


def test_work_that_waits_for_other_machines_has_a_thread_beside_work_that_computes(lanes, settings):
    settings.GYM_JOB_OWN_THREAD_QUEUES = ("long",)
    assert lanes(["default", "long", "preview"], threads=3) == [
        (["default"], 3),
        (["long"], 1),
        (["preview"], 1),
    ]


def test_a_worker_may_serve_one_sort_only(lanes):
    assert lanes(["default"]) == [(["default"], 1)]
    assert lanes(["preview"], threads=4) == [(["preview"], 1)]


def test_messages_of_a_quick_queue_are_looked_for_more_often(settings):
    settings.GYM_JOB_QUICK_QUEUES = ("preview",)
    assert conf.poll_seconds("preview") < conf.poll_seconds("default")


def test_a_quick_queue_is_polled_more_often_while_the_broker_is_away(settings):
    settings.GYM_JOB_QUICK_QUEUES = ("preview",)
    settings.GYM_BROKER_URL = "redis://localhost"
    away = {queue: conf.poll_seconds(queue, is_broker_away=True) for queue in ("preview", "default")}
    assert away["preview"] < conf.poll_seconds("preview")
    assert away["default"] == conf.poll_seconds("default")


@pytest.mark.process
def test_both_kinds_of_queue_work_in_one_process_without_a_warning(lab):
    lab.env["LAB_QUEUE"] = "preview"
    worker = lab.start("worker", "--parent", str(os.getpid()))
    for queue in ("default", "preview"):
        lab.queue = queue
        lab.wait_for(lab.enqueue("lab.chunks", {"n": 1}), "done")
    worker.terminate()
    assert worker.wait(15) == 0
    assert "WARNING" not in lab.read_log()
