"""A copy of the prepared site under `manage.py serve` with two workers, and the runs queued on it."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.process.site import ROOT, Site
from tests.services.conftest import BROKERS, POSTGRES, execute

PATIENCE = 300.0


class Work(NamedTuple):
    """A run to queue."""

    suite: str
    model: str


class BenchSite(Site):
    settings = "benchmarks.chaos.settings"


class ChaoticSite(BenchSite):
    """A site that faults are injected into. `runs`: all queued runs except deleted ones. `deleted`: job ids of deleted
    runs, by run.
    """

    def __init__(
        self, folder: Path, prepared: Path, template: str, broker: str, work: list[Work], hangs: Path
    ) -> None:
        self.folder = folder
        self.console_log = (folder / "console.log").open("ab")
        self.postgresql = bool(template)
        self.name = f"chaos{uuid.uuid4().hex[:12]}"
        self.redis = f"{BROKERS['redis']}?client_name={self.name}" if broker == "redis" else ""
        self.work, self.hangs = work, hangs
        self.runs: dict[int, Work] = {}
        self.deleted: dict[int, str] = {}
        if template:
            execute(f"CREATE DATABASE {self.name} TEMPLATE {template}")
        database = url_of(self.name) if template else ""
        super().__init__(folder, database, self.redis, self.name, like=prepared)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start_serving()

    def start_serving(self) -> None:
        words = ["serve", "--workers", "2", "--processes", "2", "--port", str(self.port)]
        deadline = time.monotonic() + PATIENCE
        while True:  # children of a killed supervisor may hold the port for a moment
            self.serve = subprocess.Popen(
                [sys.executable, "manage.py", *words],
                env=self.env,
                cwd=ROOT,
                stdout=self.log,
                stderr=self.log,
            )
            while self.serve.poll() is None:
                if self.answers():
                    return
                time.sleep(0.1)
            assert time.monotonic() < deadline, "serve does not start"
            time.sleep(0.5)

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=2):
                return True
        except OSError:
            return False

    def ask_again(self, *question: Any) -> Any:
        """Call `ask`, with a new console if the database has closed the old one's connection or refuses connections."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self.ask(*question)
            except (ValueError, OSError):  # the console exited with a traceback, which is in the log
                assert time.monotonic() < deadline, question
                self.console.kill()
                self.console.wait()
                time.sleep(0.2)
                self.console = self._start_console()

    def ask_until(self, happened: Callable[[Any], bool], *question: Any) -> Any:
        """Repeat a console command and return the first result that satisfies `happened`."""
        deadline = time.monotonic() + PATIENCE
        while not happened(answer := self.ask_again(*question)):
            assert time.monotonic() < deadline, (question, answer)
            time.sleep(0.05)
        return answer

    def queue(self, work: Work) -> int:
        run: int = self.ask_again("queue", *work)
        self.runs[run] = work
        return run

    def delete(self, how: str, run: int) -> None:
        """Delete a run with the console command `how`."""
        self.deleted[run] = self.ask_again(how, run)
        self.runs.pop(run, None)

    def on_server(self, statement: str) -> None:
        execute(statement)

    def close(self) -> None:
        self.serve.terminate()
        self.serve.wait(timeout=60)
        super().close()
        self.console_log.close()
        if self.postgresql:
            execute(f"DROP DATABASE {self.name} WITH (FORCE)")


def url_of(name: str) -> str:
    return POSTGRES.rsplit("/", 1)[0] + f"/{name}"
