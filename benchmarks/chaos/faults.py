"""What is done to a running site. Each fault leaves it to the site to recover; none tells it anything."""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

HELD_SECONDS = 3.0
"""How long the database refuses and the disk is full."""


def processes(parent: int, word: str) -> list[int]:
    """The children of a process that run this command of manage.py."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except (OSError, IndexError):
            continue
        if entry.name.isdigit() and int(stat[1]) == parent and word.encode() in words:
            found.append(int(entry.name))
    return found


class Faults:
    """`site` is a benchmarks.chaos.__main__.ChaoticSite."""

    def __init__(self, site: Any, chance: random.Random) -> None:
        self.site = site
        self.chance = chance
        self.kinds: dict[str, Callable[[], None]] = {
            "kill a worker": lambda: self._signal("worker", signal.SIGKILL),
            "freeze a worker": lambda: self._signal("worker", signal.SIGSTOP),
            "kill a web process": lambda: self._signal("web", signal.SIGKILL),
            "kill the supervisor": self.kill_the_supervisor,
            "fill the disk": self.fill_the_disk,
        }
        if site.postgresql:
            self.kinds |= {
                "cut all connections": self.cut_connections,
                "make the database read-only": self.read_only,
            }
        else:
            self.kinds["lock the database"] = self.lock_the_database

    def _signal(self, word: str, number: int) -> None:
        if found := processes(self.site.serve.pid, word):
            os.kill(self.chance.choice(sorted(found)), number)

    def kill_the_supervisor(self) -> None:
        """As after a crash of the machine's service manager: the children end themselves, somebody starts it again."""
        self.site.serve.kill()
        self.site.serve.wait()
        time.sleep(1)
        self.site.start_serving()

    def fill_the_disk(self) -> None:
        """No file of a worker grows: on SQLite neither do the database and its journal."""
        for pid in processes(self.site.serve.pid, "worker"):
            self._limit(pid, 0)
        time.sleep(HELD_SECONDS)
        for pid in processes(self.site.serve.pid, "worker"):
            self._limit(pid, resource.RLIM_INFINITY)

    @staticmethod
    def _limit(pid: int, size: int) -> None:
        with suppress(ProcessLookupError):  # it ended meanwhile
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def lock_the_database(self) -> None:
        """Another program writes, such as a backup made by copying."""
        with sqlite3.connect(self.site.folder / "gym.sqlite3", isolation_level=None, timeout=30) as other:
            other.execute("BEGIN IMMEDIATE")
            time.sleep(HELD_SECONDS)
            other.execute("ROLLBACK")
        other.close()

    def cut_connections(self) -> None:
        """What a restart of PostgreSQL does to everybody."""
        self.site.on_server(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.site.name}'"
        )

    def read_only(self) -> None:
        """What a fail-over does for a while."""
        self.site.on_server(f"ALTER DATABASE {self.site.name} SET default_transaction_read_only = on")
        self.cut_connections()
        time.sleep(HELD_SECONDS)
        self.site.on_server(f"ALTER DATABASE {self.site.name} RESET default_transaction_read_only")
        self.cut_connections()
