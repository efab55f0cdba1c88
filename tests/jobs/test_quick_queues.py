"""Queues whose jobs people wait for."""

from __future__ import annotations

import pytest

from gym.jobs import conf
from gym.jobs.worker import WorkerProcess


@pytest.fixture
def lanes(monkeypatch, settings):
    """(queues, threads) of every dramatiq worker that a worker process starts."""
    settings.GYM_JOB_QUEUES = ("default", "long", "preview")
    settings.GYM_JOB_QUICK_QUEUES = ("preview",)
    started = []
    monkeypatch.setattr(
        WorkerProcess,
        "_start_worker",
        staticmethod(lambda broker, queues, threads: started.append((queues, threads))),
    )

    def start(queues, threads=1):
        started.clear()
        WorkerProcess(queues, threads=threads)._start_workers()
        return list(started)

    return start


def test_a_quick_queue_has_a_thread_that_nothing_else_uses(lanes):
    assert lanes(["default", "long", "preview"], threads=3) == [(["default", "long"], 3), (["preview"], 1)]


def test_a_worker_may_serve_one_sort_only(lanes):
    assert lanes(["default"]) == [(["default"], 1)]
    assert lanes(["preview"], threads=4) == [(["preview"], 1)]


def test_messages_of_a_quick_queue_are_looked_for_more_often(settings):
    settings.GYM_JOB_QUICK_QUEUES = ("preview",)
    assert conf.poll_seconds("preview") < conf.poll_seconds("default")
