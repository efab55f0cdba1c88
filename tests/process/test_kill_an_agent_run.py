"""A worker is killed while it talks to an agent: in the end, every iteration is stored exactly once."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.lmgym.net.hostile import answer, server
from tests.process.site import Site

ITERATIONS = 14
KILLS = 2
AGENTS = answer(b'{"agents": [{"agent_name": "a"}]}', Content_Type="application/json")
SAID = answer(b'{"response": {"type": "AGENT_FRAMEWORK", "text": "ok", "chat_context": {}}}\n')
pytestmark = [pytest.mark.process, pytest.mark.long]


def slow_agent(connection, request):
    if request.startswith(b"GET"):
        connection.sendall(AGENTS)
        return
    time.sleep(0.3)
    connection.sendall(SAID)


@pytest.mark.parametrize("parallel", [1, 3])
def test_every_iteration_is_there_exactly_once(tmp_path, monkeypatch, parallel):
    with server(slow_agent) as there:
        monkeypatch.setenv("GYM_NET_ALLOW", there.url.removeprefix("http://"))
        site = Site(tmp_path)
        try:
            run = site.ask("queue_agent_run", there.url, ITERATIONS, parallel)
            for kill in range(1, KILLS + 1):
                worker = site.worker()
                site.wait(run, lambda now, kill=kill: len(now["numbers"]) >= 3 * kill, ask="agent_state")
                os.killpg(worker.pid, signal.SIGKILL)
                worker.wait()
                assert site.ask("agent_state", run)["state"] == "running"
            worker = site.worker()
            now = site.wait(run, lambda now: now["state"] in {"done", "failed"}, ask="agent_state")
            worker.terminate()
            worker.wait(timeout=30)
        finally:
            site.close()
        asked = sum(request.startswith(b"POST") for request in there.seen)
    assert (now["state"], now["error"], now["outcome"]) == ("done", "", "pass")
    assert now["numbers"] == list(range(1, ITERATIONS + 1))
    assert (now["made"], now["passed"]) == (ITERATIONS, ITERATIONS)
    assert now["attempt"] > KILLS
    assert asked <= ITERATIONS + KILLS * parallel, (
        "only what was under way when the worker was killed is asked again"
    )
