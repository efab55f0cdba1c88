"""A worker is killed in the middle of a typing game: the next one resumes at the end of a line, and the log
equals that of an undisturbed game, even for a model that learns."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import pytest

from tests.process.site import Site

pytestmark = [pytest.mark.process, pytest.mark.long]
KILLS = 2
MODEL = """
import sys, time
learnt = 0
for line in sys.stdin:
    if line.startswith("clear"):
        learnt = 0
    elif line.startswith("train"):
        learnt += len(line)
    else:
        time.sleep(0.01)
        print(f"the\\t-{learnt}.5\\tcat\\t-1.0", flush=True)
"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    program = tmp_path / "model.py"
    program.write_text(MODEL, encoding="utf-8")
    players = {"learner": {"argv": [sys.executable, str(program)], "settle": 0}}
    monkeypatch.setenv("GYM_LMC_PLAYERS", json.dumps(players))
    site = Site(tmp_path)
    yield site
    site.close()


def wait(site: Site, game: int, happened, seconds: float = 90) -> dict:
    deadline = time.monotonic() + seconds
    while not happened(now := site.ask("game_state", game)):
        assert time.monotonic() < deadline, now
        time.sleep(0.05)
    return now


def test_killed_workers_change_nothing_in_the_log(site):
    game = site.ask("queue_game", "process:learner")
    lines = 0
    for _ in range(KILLS):
        worker = site.worker()
        now = wait(site, game, lambda now, lines=lines: now["lines"] > lines)
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        lines = now["lines"]
    assert now["state"] == "running", "the game ended before the last kill"
    worker = site.worker()
    now = wait(site, game, lambda now: now["state"] in {"done", "failed"})
    assert (now["state"], now["problem"]) == ("done", "")
    assert now["attempt"] > KILLS
    calm = site.ask("queue_game", "process:learner")
    wait(site, calm, lambda now: now["state"] in {"done", "failed"})
    worker.terminate()
    worker.wait(timeout=30)
    assert site.ask("game_log", game) == site.ask("game_log", calm)
