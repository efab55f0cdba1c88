"""Faults for a running site. The site must recover without help."""

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

import redis

from benchmarks.chaos import LEASE
from benchmarks.chaos.site import ChaoticSite, Work

HELD_SECONDS = 3.0
"""Duration of a fault that makes the database refuse writes or fills the disk."""
NO_MEMORY_SECONDS = 1.0
"""Duration of the lack of memory. Each error uses up one of a job's three attempts, which are 1.5 s apart here, and 15
s by default.
"""
REAPERS = 4


def processes(parent: int, word: str) -> list[int]:
    """Return the child processes that run this manage.py command."""
    pids = []
    for entry in Path("/proc").iterdir():
        try:
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except (OSError, IndexError):
            continue
        if entry.name.isdigit() and int(stat[1]) == parent and word.encode() in words:
            pids.append(int(entry.name))
    return pids


class Faults:
    def __init__(self, site: ChaoticSite, chance: random.Random) -> None:
        self.site = site
        self.chance = chance
        self.kinds: dict[str, Callable[[], None]] = {
            "kill a worker": lambda: self._signal("worker", signal.SIGKILL),
            "freeze a worker": lambda: self._signal("worker", signal.SIGSTOP),
            "kill a web process": lambda: self._signal("web", signal.SIGKILL),
            "kill the supervisor": self.kill_the_supervisor,
            "fill the disk": self.fill_the_disk,
            "refuse memory": self.refuse_memory,
            "set the clock": self.set_the_clock,
            "many reapers": self.many_reapers,
            "delete a run": self.delete_a_run,
            "delete an account": self.delete_an_account,
            "hang a program": self.hang_a_program,
        }
        if site.postgresql:
            self.kinds |= {
                "cut all connections": self.cut_connections,
                "make the database read-only": self.read_only,
            }
        else:
            self.kinds["lock the database"] = self.lock_the_database
        if site.redis:
            self.kinds["lose the broker"] = self.lose_the_broker

    def _signal(self, word: str, number: int) -> None:
        if pids := processes(self.site.serve.pid, word):
            os.kill(self.chance.choice(sorted(pids)), number)

    def kill_the_supervisor(self) -> None:
        """Kill the supervisor, and start it again after a second, as a service manager does after a crash.
        Its orphaned children must exit by themselves.
        """
        self.site.serve.kill()
        self.site.serve.wait()
        time.sleep(1)
        self.site.start_serving()

    def fill_the_disk(self) -> None:
        """Make all writes of the workers to files fail, including, on SQLite, those to the database and its
        journal.
        """
        self._limit_workers(resource.RLIMIT_FSIZE, HELD_SECONDS)

    def refuse_memory(self) -> None:
        """Prevent workers from allocating more memory, as a model that is too large would."""
        self._limit_workers(resource.RLIMIT_AS, NO_MEMORY_SECONDS)

    def _limit_workers(self, limit: int, seconds: float) -> None:
        for size in (0, resource.RLIM_INFINITY):
            for pid in processes(self.site.serve.pid, "worker"):
                with suppress(ProcessLookupError):  # it has already exited
                    resource.prlimit(pid, limit, (size, resource.RLIM_INFINITY))
            if size == 0:
                time.sleep(seconds)

    def set_the_clock(self) -> None:
        """Set the clock back by an hour; the next time, set it forward again."""
        clock = self.site.folder / "clock"
        is_back = clock.exists() and float(clock.read_text())
        new = clock.with_suffix(".new")
        new.write_text("0" if is_back else "-3600")
        new.replace(clock)

    def many_reapers(self) -> None:
        """Freeze a worker until its lease has expired, while REAPERS threads of the console look for expired
        leases in addition to the workers.
        """
        self._signal("worker", signal.SIGSTOP)
        self.site.ask_again("reap_at_once", REAPERS, LEASE + 1)

    def delete_a_run(self) -> None:
        """Delete a run, preferably one in progress."""
        runs = list(self.site.runs)
        under_way = self.site.ask_again("running", runs) or self.site.ask_again("unfinished", runs)
        self.site.delete("delete_run", self.chance.choice(under_way))

    def delete_an_account(self) -> None:
        """Delete an account with its suite, its model and a run in progress."""
        run = self.site.ask_again("queue_as_guest", *self.site.work[0])
        self.site.ask_until(lambda steps: steps[str(run)], "steps", [run])
        self.site.delete("delete_account_of", run)

    def hang_a_program(self) -> None:
        """Let a model program hang. Its run must fail with a reason, and is retried."""
        self.site.hangs.touch()
        run = self.site.queue(Work(self.site.work[0].suite, "program"))
        state = self.site.ask_until(lambda now: now["state"] in ("done", "failed"), "state", run)
        self.site.hangs.unlink()
        assert "took longer than" in state["error"], state
        self.site.ask_again("retry", run)

    def lock_the_database(self) -> None:
        """Hold SQLite's write lock, as another program that writes would, such as a backup by copying."""
        with sqlite3.connect(self.site.folder / "gym.sqlite3", isolation_level=None, timeout=30) as other:
            other.execute("BEGIN IMMEDIATE")
            time.sleep(HELD_SECONDS)
            other.execute("ROLLBACK")
        other.close()

    def cut_connections(self) -> None:
        """Cut all connections, as a restart of PostgreSQL does."""
        self.site.on_server(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.site.name}'"
        )

    def read_only(self) -> None:
        """Make the database read-only for a while, as a fail-over does."""
        self.site.on_server(f"ALTER DATABASE {self.site.name} SET default_transaction_read_only = on")
        self.cut_connections()
        time.sleep(HELD_SECONDS)
        self.site.on_server(f"ALTER DATABASE {self.site.name} RESET default_transaction_read_only")
        self.cut_connections()

    def lose_the_broker(self) -> None:
        """Drop the keys and connections of this site in Redis, as a restart of Redis without persistence would."""
        with redis.Redis.from_url(self.site.redis) as server:
            for key in server.scan_iter(f"{self.site.name}:*"):
                server.delete(key)
            for client in server.client_list():
                if client["name"] == self.site.name:
                    server.client_kill_filter(_id=client["id"])
