"""A worker that is killed in the middle of a run loses nothing and doubles nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
KILLS = 10
pytestmark = [pytest.mark.process, pytest.mark.xdist_group("process")]


class Site:
    """A site of its own in a folder: a database, a model directory, a process to ask and workers to kill."""

    def __init__(self, folder: Path, database: str = "") -> None:
        self.env = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.process.settings",
            "PYTHONPATH": str(ROOT),
            "GYM_VAR_DIR": str(folder),
            "GYM_DATABASE_URL": database,
            "HF_HUB_OFFLINE": "1",
        }
        self.log = (folder / "worker.log").open("ab")
        self.manage("migrate", "-v", "0")
        self.console = subprocess.Popen(
            [sys.executable, "-m", "tests.process.ask"],
            env=self.env,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def manage(self, *words: str) -> None:
        subprocess.run([sys.executable, "manage.py", *words], env=self.env, cwd=ROOT, check=True)

    def ask(self, *question: Any) -> Any:
        assert self.console.stdin is not None
        assert self.console.stdout is not None
        print(json.dumps(question), file=self.console.stdin, flush=True)
        return json.loads(self.console.stdout.readline())

    def worker(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "manage.py", "worker"],
            env=self.env,
            cwd=ROOT,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )

    def finish(self, run: int, seconds: float = 120) -> None:
        worker = self.worker()
        self.wait(run, lambda now: now["state"] in {"done", "failed"}, seconds)
        worker.terminate()
        worker.wait(timeout=30)

    def wait(self, run: int, happened: Any, seconds: float = 60) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while not happened(now := self.ask("state", run)):
            assert time.monotonic() < deadline, now
            time.sleep(0.02)
        return now

    def close(self) -> None:
        self.console.terminate()
        self.console.wait()
        self.log.close()


@pytest.fixture
def site(tmp_path):
    site = Site(tmp_path)
    yield site
    site.close()


@pytest.mark.parametrize("model", ["demo-gpt2"])
def test_ten_kills_change_nothing_in_the_results(site, tmp_path, model):
    undisturbed = Site(tmp_path_of(tmp_path, "undisturbed"))
    for place in (site, undisturbed):
        place.ask("prepare", model)
    calm = undisturbed.ask("queue", "agreement_orc", model)
    undisturbed.finish(calm)

    run = site.ask("queue", "agreement_orc", model)
    for kill in range(KILLS):
        worker = site.worker()
        site.wait(run, lambda now, kill=kill: now["done"] > kill)
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        now = site.ask("state", run)
        assert now["state"] == "running", f"the run ended before kill {kill + 1}: {now}"
        assert not now["has_results"]
    site.finish(run)

    after = site.ask("state", run)
    assert (after["state"], after["error"], after["has_results"]) == ("done", "", True)
    assert after["attempt"] > KILLS
    assert site.ask("results", run) == undisturbed.ask("results", calm)
    undisturbed.close()


def tmp_path_of(parent: Path, name: str) -> Path:
    folder = parent / name
    folder.mkdir()
    return folder
