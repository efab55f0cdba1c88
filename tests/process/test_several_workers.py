"""Two workers share a run, and one of them is killed: nothing is lost, and the numbers equal those of a
single worker."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.process.site import Site, site_with

pytestmark = [pytest.mark.process, pytest.mark.long]


def test_a_helper_that_is_killed_changes_nothing(tmp_path: Path):
    ready = site_with("demo-gpt2")
    with closing(Site(tmp_path / "alone", like=ready)) as site:
        site.ask("make_long_suite", "long")
        expected = finished(site, site.ask("queue", "long", "demo-gpt2"), [site.worker()])
    with closing(Site(tmp_path / "together", like=ready)) as site:
        site.ask("make_long_suite", "long")
        site.env["TEST_PACE"] = "0.6"  # slow enough for the helper to load the model before the run ends
        workers = [site.worker() for _ in range(2)]
        site.wait(2, bool, ask="at_least_workers")
        run = site.ask("queue", "long", "demo-gpt2")
        helper = site.wait(run, lambda pid: pid is not None, ask="pid_of_a_helper_at_work")
        os.kill(helper, signal.SIGKILL)
        assert site.ask("state", run)["state"] == "running"
        assert finished(site, run, workers) == expected
        assert len(site.ask("who_scored", run)) == 2


def finished(site: Site, run: int, workers: list[subprocess.Popen[bytes]]) -> dict[str, Any]:
    """Wait until the run is done, stop the workers, and return the results."""
    now = site.wait(run, lambda now: now["state"] in {"done", "failed"}, seconds=120)
    assert now["state"] == "done", now
    for worker in workers:
        worker.terminate()
        worker.wait(timeout=30)
    return site.ask("results", run)
