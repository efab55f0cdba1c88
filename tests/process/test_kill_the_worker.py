"""A worker that is killed in the middle of a run of a transformer loses nothing and doubles nothing. That any number of
kills may come is tried with simpler jobs in tests/jobs/test_worker_process.py."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from typing import Any

import pytest

from tests.process.site import Site, site_with

KILLS = 2
pytestmark = pytest.mark.process


@pytest.mark.parametrize("model", ["demo-gpt2"])
def test_kills_change_nothing_in_the_results(tmp_path, tmp_path_factory, model):
    ready = site_with(model, tmp_path_factory)
    with closing(Site(tmp_path / "calm", like=ready)) as undisturbed:
        calm = undisturbed.ask("queue", "agreement_orc", model)
        undisturbed.finish(calm)
        expected = undisturbed.ask("results", calm)
    with closing(Site(tmp_path / "killed", like=ready)) as site:
        be_killed(site, model, expected)


def be_killed(site: Site, model: str, expected: dict[str, Any]) -> None:
    run = site.ask("queue", "agreement_orc", model)
    for kill in range(KILLS):
        kill_worker(site, run, lambda now, kill=kill: now["done"] > kill)
        now = site.ask("state", run)
        assert now["state"] == "running", f"the run ended before kill {kill + 1}: {now}"
        assert not now["has_results"]
    site.finish(run)

    after = site.ask("state", run)
    assert (after["state"], after["error"], after["has_results"]) == ("done", "", True)
    assert after["attempt"] > KILLS
    assert site.ask("results", run) == expected


def kill_worker(site: Site, run: int, happened) -> None:
    worker = site.worker()
    site.wait(run, happened)
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
