"""The heartbeat row of a worker."""

from __future__ import annotations

from gym.jobs.selectors import workers
from gym.jobs.worker import WorkerProcess

MB = 1024 * 1024


def test_each_sign_of_life_says_how_much_memory_the_worker_takes(db):
    process = WorkerProcess(["default"])
    process._register()
    [before] = workers()
    assert before.process_bytes is not None
    assert before.process_bytes > MB
    more = bytearray(b"x") * (64 * MB)
    process._beat()
    [after] = workers()
    assert after.process_bytes is not None
    assert after.process_bytes - before.process_bytes > len(more) // 2
