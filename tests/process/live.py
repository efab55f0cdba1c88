"""A running site: a web process, a worker, its own database, and users with tokens."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from tests.process.site import ROOT, Site


class LiveSite(Site):
    """A site running at `url`. `things`: tokens and names, as returned by a function of tests.process.ask."""

    def __init__(
        self,
        folder: Path,
        database: str = "",
        prepare: str = "prepare_api",
        *,
        web_processes: int = 1,
        **settings: str,
    ) -> None:
        os.environ.update(settings)
        try:
            super().__init__(folder, database)
        finally:
            for name in settings:
                del os.environ[name]
        self.env |= settings | {"DJANGO_SETTINGS_MODULE": "gym.settings"}
        self.things: dict[str, Any] = self.ask(prepare)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.processes = [
            self.start("worker", "--parent", str(os.getpid())),
            self.start("web", "--port", str(self.port), "--processes", str(web_processes)),
        ]
        self._await()

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "manage.py", *words], env=self.env, cwd=ROOT, stdout=self.log, stderr=self.log
        )

    def _await(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/healthz", timeout=5):
                    return
            except OSError:
                assert time.monotonic() < deadline, "the site does not answer"
                time.sleep(0.1)

    def close(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(timeout=60)
        super().close()
