"""Killing a worker in the middle of a transformer's run loses and duplicates nothing.
tests/jobs/test_worker_process.py kills more workers, with simpler jobs."""

from __future__ import annotations

import os
import signal
from contextlib import closing

import pytest

from tests.process.site import Site, site_with

pytestmark = pytest.mark.process
SUITE, MODEL = "agreement_orc", "demo-gpt2"


def test_a_kill_changes_nothing_in_the_results(tmp_path):
    ready = site_with(MODEL)
    with closing(Site(tmp_path / "calm", like=ready)) as site:
        run = site.ask("queue", SUITE, MODEL)
        site.finish(run)
        expected = site.ask("results", run)
    with closing(Site(tmp_path / "killed", like=ready)) as site:
        run = site.ask("queue", SUITE, MODEL)
        worker = site.worker()
        site.wait(run, lambda now: now["done"] > 0)
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        now = site.ask("state", run)
        assert (now["state"], now["has_results"]) == ("running", False)
        site.finish(run)
        after = site.ask("state", run)
        assert (after["state"], after["error"], after["has_results"]) == ("done", "", True)
        assert after["attempt"] == 2
        assert site.ask("results", run) == expected
