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

import redis

from benchmarks.chaos import LEASE
from benchmarks.chaos.site import ChaoticSite, Work

HELD_SECONDS = 3.0
"""How long the database refuses and the disk is full."""
NO_MEMORY_SECONDS = 1.0
"""Each error is a try of the job, and the third is its last; between them lie 1.5 s here, and 15 s by default."""
REAPERS = 4


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
        self._limit_workers(resource.RLIMIT_FSIZE, HELD_SECONDS)

    def refuse_memory(self) -> None:
        """As for a model that takes more than there is: no worker gets more than it has."""
        self._limit_workers(resource.RLIMIT_AS, NO_MEMORY_SECONDS)

    def _limit_workers(self, what: int, seconds: float) -> None:
        for size in (0, resource.RLIM_INFINITY):
            for pid in processes(self.site.serve.pid, "worker"):
                with suppress(ProcessLookupError):  # it ended meanwhile
                    resource.prlimit(pid, what, (size, resource.RLIM_INFINITY))
            if size == 0:
                time.sleep(seconds)

    def set_the_clock(self) -> None:
        """An hour back, and the next time ahead again."""
        clock = self.site.folder / "clock"
        is_back = clock.exists() and float(clock.read_text())
        new = clock.with_suffix(".new")
        new.write_text("0" if is_back else "-3600")
        new.replace(clock)

    def many_reapers(self) -> None:
        """A lease runs out before the eyes of many at once: `worker --drain` reaps beside the workers' own."""
        self._signal("worker", signal.SIGSTOP)
        self.site.ask_again("reap_at_once", REAPERS, LEASE + 1)

    def delete_a_run(self) -> None:
        """One that is under way, if there is one."""
        runs = list(self.site.runs)
        under_way = self.site.ask_again("running", runs) or self.site.ask_again("unfinished", runs)
        self.site.delete("delete_run", self.chance.choice(under_way))

    def delete_an_account(self) -> None:
        """With it go its suite, its model and the run of both, which is under way."""
        run = self.site.ask_again("queue_as_guest", *self.site.work[0])
        self.site.ask_until(lambda steps: steps[str(run)], "steps", [run])
        self.site.delete("delete_account_of", run)

    def hang_a_program(self) -> None:
        """A model that is a program does not answer. Its run fails and says why, and somebody tries it again."""
        self.site.hangs.touch()
        run = self.site.queue(Work(self.site.work[0].suite, "program"))
        state = self.site.ask_until(lambda now: now["state"] in ("done", "failed"), "state", run)
        self.site.hangs.unlink()
        assert "took longer than" in state["error"], state
        self.site.ask_again("retry", run)

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

    def lose_the_broker(self) -> None:
        """What a restart does of a Redis that keeps nothing, to this site alone: its keys and connections go."""
        with redis.Redis.from_url(self.site.redis) as server:
            for key in server.scan_iter(f"{self.site.name}:*"):
                server.delete(key)
            for client in server.client_list():
                if client["name"] == self.site.name:
                    server.client_kill_filter(_id=client["id"])
