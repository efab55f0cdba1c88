"""A site of its own in a folder: a database, a process to ask and workers to kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


class Site:
    def __init__(self, folder: Path, database: str = "", broker: str = "", namespace: str = "gym") -> None:
        self.env = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.process.settings",
            "PYTHONPATH": str(ROOT),
            "GYM_VAR_DIR": str(folder),
            "GYM_DATABASE_URL": database,
            "GYM_BROKER_URL": broker,
            "GYM_BROKER_NAMESPACE": namespace,
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
            [sys.executable, "manage.py", "worker", "--parent", str(os.getpid())],
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

    def wait(self, run: int, happened: Any, seconds: float = 60, ask: str = "state") -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while not happened(now := self.ask(ask, run)):
            assert time.monotonic() < deadline, now
            time.sleep(0.02)
        return now

    def close(self) -> None:
        self.console.terminate()
        self.console.wait()
        self.log.close()
