"""A realistic site under `manage.py serve`: resources used by its processes, and contents of its log."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.chaos.faults import processes
from tests.process.site import ROOT, Site

NO_LIMITS = {
    "GYM_MAX_ACTIVE_JOBS_PER_USER": "0",
    "GYM_MAX_SENTENCES_PER_DAY": "0",
    "GYM_MAX_RUNS_PER_USER": "0",
    "GYM_QUOTA_SUITES": "0, 0",
    "GYM_API_REQUESTS_PER_MINUTE": "0",
}
"""Settings without limits, because one account owns the whole site and all clients have one address."""
PIPES: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6
TICKS = os.sysconf("SC_CLK_TCK")


class LoadedSite(Site):
    def _start_console(self) -> subprocess.Popen[str]:
        self.env |= NO_LIMITS | {"DJANGO_SETTINGS_MODULE": "gym.settings"}
        command = [sys.executable, "-m", "benchmarks.load.console"]
        return subprocess.Popen(command, env=self.env | {"GYM_LOG_LEVEL": "WARNING"}, cwd=ROOT, **PIPES)

    def start_serving(self, workers: int, processes: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        arguments = {"--workers": workers, "--processes": processes, "--port": self.port}
        words = [str(word) for pair in arguments.items() for word in pair]
        command = [sys.executable, "manage.py", "serve", *words]
        self.serve = subprocess.Popen(command, env=self.env, cwd=ROOT, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + 300
        while len(self.processes()) < 1 + workers + processes or not self._answers():
            assert self.serve.poll() is None, Path(self.log.name).read_text()[-2000:]
            assert time.monotonic() < deadline, "serve does not start"
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=2):
                return True
        except OSError:
            return False

    @staticmethod
    def clients() -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, "-m", "benchmarks.load.clients"], cwd=ROOT, **PIPES)

    def processes(self) -> dict[str, int]:
        """Return process ids by name: serve, web 1, web 2, worker 1."""
        pids_by_name = {"serve": self.serve.pid}
        for word in ("web", "worker"):
            pids = sorted(processes(self.serve.pid, word))
            pids_by_name |= {f"{word} {number}": pid for number, pid in enumerate(pids, start=1)}
        return pids_by_name

    def memory(self) -> dict[str, float]:
        """Return the unshared memory of each process in MB, as on the queue page."""
        return {name: _private_mb(pid) for name, pid in self.processes().items()}

    def cpu(self) -> dict[str, float]:
        """Return the seconds of processor time so far, of the site's processes and of all processes on the machine."""
        ticks = {"web": 0, "worker": 0, "machine": _machine_ticks()}
        for name, pid in self.processes().items():
            if name != "serve":
                ticks[name.split()[0]] += _ticks(pid)
        return {name: number / TICKS for name, number in ticks.items()}

    def logged(self, words: str) -> int:
        return Path(self.log.name).read_text(errors="replace").count(words)

    def close(self) -> None:
        if hasattr(self, "serve"):
            self.serve.terminate()
            self.serve.wait(timeout=60)
        super().close()


def _private_mb(pid: int) -> float:
    resident, shared = Path(f"/proc/{pid}/statm").read_text().split()[1:3]
    return (int(resident) - int(shared)) * PAGE_MB


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _machine_ticks() -> int:
    user, nice, system, _idle, _waiting, irq, softirq = Path("/proc/stat").read_text().split()[1:8]
    return sum(map(int, (user, nice, system, irq, softirq)))
