"""A worker that is killed in the middle of a run loses nothing and doubles nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.process.site import Site

KILLS = 5
pytestmark = [pytest.mark.process, pytest.mark.xdist_group("test_kill_the_worker")]


@pytest.fixture
def site(tmp_path):
    site = Site(tmp_path)
    yield site
    site.close()


@pytest.mark.parametrize("model", ["demo-gpt2"])
def test_kills_change_nothing_in_the_results(site, tmp_path, model):
    undisturbed = Site(tmp_path_of(tmp_path, "undisturbed"))
    for place in (site, undisturbed):
        place.ask("prepare", model)
    calm = undisturbed.ask("queue", "agreement_orc", model)
    undisturbed.finish(calm)

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
    assert site.ask("results", run) == undisturbed.ask("results", calm)
    undisturbed.close()


def kill_worker(site: Site, run: int, happened) -> None:
    worker = site.worker()
    site.wait(run, happened)
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def tmp_path_of(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    return folder
