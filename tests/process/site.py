"""A site in its own folder: a database, a console process, and workers that tests can kill."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.once_a_run import once_a_run

ROOT = Path(__file__).resolve().parents[2]


SETTINGS = "tests.process.settings"
ENDED = 1_000_000
"""Value of the console command `steps` for a run that has ended."""


def _environment(
    folder: Path, database: str = "", broker: str = "", namespace: str = "gym", settings: str = SETTINGS
) -> dict[str, str]:
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": settings,
        "PYTHONPATH": str(ROOT),
        "GYM_VAR_DIR": str(folder),
        "GYM_DATABASE_URL": database,
        "GYM_BROKER_URL": broker,
        "GYM_BROKER_NAMESPACE": namespace,
        "HF_HUB_OFFLINE": "1",
    }


def migrate(env: dict[str, str]) -> None:
    subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0"], env=env, cwd=ROOT, check=True)


def empty_site() -> Path:
    """Return a folder with an SQLite database that has all tables and no rows."""
    return once_a_run("empty-site", lambda folder: migrate(_environment(folder)))


class Site:
    """A site that starts empty, or as a copy of the closed site in the folder `like`. A PostgreSQL database
    must already be a copy of that site's (CREATE DATABASE … TEMPLATE …)."""

    console_log: Any = None
    """Destination of the console's errors: this process's standard error, or an open file."""
    settings = SETTINGS

    def __init__(
        self,
        folder: Path,
        database: str = "",
        broker: str = "",
        namespace: str = "gym",
        *,
        like: Path | None = None,
    ) -> None:
        self.env = _environment(folder, database, broker, namespace, self.settings)
        if like is not None or not database:
            shutil.copytree(like or empty_site(), folder, dirs_exist_ok=True)
        if like is None and database:
            migrate(self.env)
        self.log = (folder / "worker.log").open("ab")
        self.started: list[subprocess.Popen[bytes]] = []
        self.console = self._start_console()

    def _start_console(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.process.ask"],
            env=self.env,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.console_log,
            text=True,
        )

    def ask(self, *question: Any) -> Any:
        assert self.console.stdin is not None
        assert self.console.stdout is not None
        print(json.dumps(question), file=self.console.stdin, flush=True)
        return json.loads(self.console.stdout.readline())

    def worker(self) -> subprocess.Popen[bytes]:
        worker = subprocess.Popen(
            [sys.executable, "manage.py", "worker", "--parent", str(os.getpid())],
            env=self.env,
            cwd=ROOT,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )
        self.started.append(worker)
        return worker

    def finish(self, run: int, seconds: float = 120) -> None:
        worker = self.worker()
        self.wait(run, lambda now: now["state"] in {"done", "failed"}, seconds)
        worker.terminate()
        worker.wait(timeout=30)

    def wait(self, run: int, happened: Any, seconds: float = 60, ask: str = "state") -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while not happened(now := self.ask(ask, run)):
            assert time.monotonic() < deadline, now
            time.sleep(0.02)
        return now

    def close(self) -> None:
        for worker in self.started:
            worker.kill()  # left behind by a failed test
        self.console.terminate()
        self.console.wait()
        self.log.close()


def site_with(model: str) -> Path:
    """Return the folder of a closed site on which this demo model is ready to run. It is created once per
    test run."""

    def build(folder: Path) -> None:
        with closing(Site(folder)) as site:
            site.ask("prepare", model)

    return once_a_run(f"site-{model}", build)
