"""Start, kill and query the processes of the lab. Imports no Django, as the processes have their own
databases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


PATIENCE = 4
"""Factor for timeouts, because other tests run at the same time."""


class Lab:
    def __init__(
        self, folder: Path, *, database: str = "", broker: str = "", queue: str = "default", **env: str
    ):
        self.queue = queue
        self.folder = folder
        self.env = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.jobs.lab.settings",
            "PYTHONPATH": str(ROOT),
            "GYM_VAR_DIR": str(folder),
            "GYM_DATABASE_URL": database or f"sqlite:///{folder / 'lab.sqlite3'}",
            "GYM_BROKER_URL": broker,
            "LAB_QUEUE": "" if queue == "default" else queue,
            "LAB_NAMESPACE": queue,
            **env,
        }
        self.processes: list[subprocess.Popen[bytes]] = []
        self._console: subprocess.Popen[str] | None = None
        self.log = folder / "processes.log"

    def prepare(self) -> Lab:
        done = subprocess.run(
            self.command("migrate", "--run-syncdb", "-v", "0"),
            env=self.env, cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return self

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-u", str(ROOT / "manage.py"), *arguments]

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start a command in the background; its output goes to the lab's log."""
        with self.log.open("ab") as output:
            process = subprocess.Popen(
                self.command(*arguments),
                env=self.env,
                cwd=ROOT,
                stdout=output,
                stderr=output,
                start_new_session=True,
                **options,
            )
        self.processes.append(process)
        return process

    def worker(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        words = ("worker", "--queues", self.queue, "--parent", str(os.getpid()))
        return self.start(*words, *arguments, **options)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            env=self.env,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def ask(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Call a function of the console."""
        if self._console is None:
            self._console = subprocess.Popen(
                [sys.executable, "-u", "-m", "tests.jobs.lab.console"],
                env=self.env, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
        assert self._console.stdin is not None
        assert self._console.stdout is not None
        print(json.dumps([name, arguments, options]), file=self._console.stdin, flush=True)
        answer = json.loads(self._console.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["value"]

    def enqueue(self, kind: str, payload: dict[str, Any] | None = None, **options: Any) -> str:
        return self.ask("enqueue", kind, payload or {}, queue=self.queue, **options)

    def job(self, job_id: str) -> dict[str, Any]:
        return self.ask("job", job_id)

    def wait_for(self, job_id: str, state: str, seconds: float = 15) -> dict[str, Any]:
        self.until(lambda: self.job(job_id)["state"] == state, seconds, lambda: f"{self.job(job_id)}")
        return self.job(job_id)

    def until(
        self, happened: Callable[[], bool], seconds: float = 15, describe: Callable[[], str] = lambda: ""
    ) -> None:
        seconds *= PATIENCE
        deadline = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"did not happen in {seconds} s: {describe()}\n{self.read_log()[-6000:]}"
                )
            time.sleep(0.03)

    def read_log(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        if self._console is not None:
            self._console.terminate()
            self._console.communicate()
