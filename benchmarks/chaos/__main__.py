"""A site that runs suites while its processes and its database are killed, frozen and starved.

    python -m benchmarks.chaos [--faults 100] [--database sqlite | postgresql] [--seed 1]

One fault after the other, by chance, each as soon as the site works again. In the end every run must be done, and every
stored number must equal that of an undisturbed run: lost, doubled and different are counted. The site has leases of
five seconds. Exits with 1 if anything was lost, doubled or different.

PostgreSQL is that of GYM_TEST_POSTGRES_URL, by default postgresql://postgres@127.0.0.1:5432; the database is dropped.
"""

from __future__ import annotations

import argparse
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.chaos.faults import Faults
from benchmarks.chaos.settings import GYM_JOB_LEASE_SECONDS as LEASE
from tests.process.site import ROOT, Site
from tests.services.conftest import POSTGRES, execute

MODEL = "demo-gpt2"
SUITES = ["agreement_orc", "filler_gap_object", "npi", "reflexive_orc"]
WAITING = 3
"""Runs that are queued or running at any time."""
PATIENCE = 120.0


class ChaoticSite(Site):
    """A copy of the prepared site under `manage.py serve` with two workers."""

    def __init__(self, folder: Path, prepared: Path, template: str) -> None:
        self.folder = folder
        self.console_log = (folder / "console.log").open("ab")
        self.postgresql = bool(template)
        self.name = f"chaos{uuid.uuid4().hex[:12]}" if template else ""
        if template:
            execute(f"CREATE DATABASE {self.name} TEMPLATE {template}")
        super().__init__(folder, database=url_of(self.name), like=prepared)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.start_serving()

    def start_serving(self) -> None:
        words = ["serve", "--no-demo", "--workers", "2", "--processes", "2", "--port", str(self.port)]
        deadline = time.monotonic() + PATIENCE
        while True:  # the children of a supervisor that was killed may hold the port for a moment
            self.serve = subprocess.Popen(
                [sys.executable, "manage.py", *words],
                env=self.env | {"DJANGO_SETTINGS_MODULE": "benchmarks.chaos.settings"},
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
        """`ask`, with a new console where the database closed the old one's connection or refuses."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self.ask(*question)
            except (ValueError, OSError):  # it ended with a traceback, which is in the log
                assert time.monotonic() < deadline, question
                self.console.kill()
                self.console.wait()
                time.sleep(0.2)
                self.console = self._start_console()

    def on_server(self, statement: str) -> None:
        execute(statement)

    def close(self) -> None:
        self.serve.terminate()
        self.serve.wait(timeout=60)
        super().close()
        self.console_log.close()
        if self.name:
            execute(f"DROP DATABASE {self.name} WITH (FORCE)")


def url_of(name: str) -> str:
    return POSTGRES.rsplit("/", 1)[0] + f"/{name}" if name else ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    template = f"ready{uuid.uuid4().hex[:12]}" if given.database == "postgresql" else ""
    with tempfile.TemporaryDirectory(prefix="chaos-") as top:
        folders = {name: Path(top, name) for name in ("prepared", "calm", "chaos")}
        for folder in folders.values():
            folder.mkdir()
        if template:
            execute(f"CREATE DATABASE {template}")
        try:
            expected = undisturbed(folders["prepared"], folders["calm"], template)
            return chaos(folders["chaos"], folders["prepared"], template, expected, given)
        finally:
            if template:
                execute(f"DROP DATABASE {template} WITH (FORCE)")


def undisturbed(prepared: Path, calm: Path, template: str) -> dict[str, Any]:
    """What each suite's run gives on SQLite when nothing happens; numbers do not depend on the database."""
    for folder, database in [(prepared, url_of(template)), *([(calm, "")] if template else [])]:
        with closing(Site(folder, database)) as site:
            site.ask("prepare", MODEL)
    with closing(Site(calm, like=None if template else prepared)) as site:
        runs = {suite: site.ask("queue", suite, MODEL) for suite in SUITES}
        for run in runs.values():
            site.finish(run)
        return {suite: results_of(site, run) for suite, run in runs.items()}


def results_of(site: Site, run: int) -> dict[str, Any]:
    return {name: value for name, value in site.ask("results", run).items() if name != "cached"}


def chaos(
    folder: Path, prepared: Path, template: str, expected: dict[str, Any], given: argparse.Namespace
) -> int:
    chance = random.Random(given.seed)
    runs: dict[int, str] = {}
    took: dict[str, list[float]] = defaultdict(list)
    begun = time.monotonic()
    with closing(ChaoticSite(folder, prepared, template)) as site:
        faults = Faults(site, chance)
        kinds = sorted(faults.kinds)
        for number in range(given.faults):
            keep_busy(site, runs)
            time.sleep(chance.uniform(0.2, 2.0))
            kind = kinds[number % len(kinds)]
            under_way = site.ask_again("steps", site.ask_again("running", list(runs)))
            faults.kinds[kind]()
            took[kind].append(recovery(site, runs, under_way))
            print(f"{number + 1:4} {kind:30} works again after {took[kind][-1]:5.1f} s", flush=True)
        wait_for_all(site, runs)
        lost, doubled, different = compare(site, runs, expected)
    minutes = (time.monotonic() - begun) / 60
    print("\n| fault | times | median s | longest s |\n|---|---|---|---|")
    for kind, seconds in sorted(took.items()):
        print(f"| {kind} | {len(seconds)} | {statistics.median(seconds):.1f} | {max(seconds):.1f} |")
    print(
        f"\n{given.database}: {given.faults} faults in {minutes:.1f} minutes, {len(runs)} runs; leases of {LEASE:g} s"
    )
    print(f"lost {lost}, doubled {doubled}, different {different}")
    return 1 if lost or doubled or different else 0


def keep_busy(site: ChaoticSite, runs: dict[int, str]) -> None:
    """Enough runs wait, and none finds its sentences scored already."""
    unfinished = site.ask_again("unfinished", list(runs))
    for _ in range(WAITING - len(unfinished)):
        site.ask_again("forget_scores")
        suite = SUITES[len(runs) % len(SUITES)]
        runs[site.ask_again("queue", suite, MODEL)] = suite


def recovery(site: ChaoticSite, runs: dict[int, str], before: dict[str, int]) -> float:
    """Seconds until a page is answered and every run that was under way (`before`) has got a step further."""
    begun = time.monotonic()
    while True:
        keep_busy(site, runs)
        now = site.ask_again("steps", list(before))
        if site.answers() and all(now[run] > steps for run, steps in before.items()):
            return time.monotonic() - begun
        assert time.monotonic() - begun < PATIENCE, "the site does not recover"
        time.sleep(0.05)


def wait_for_all(site: ChaoticSite, runs: dict[int, str]) -> None:
    deadline = time.monotonic() + PATIENCE * 2
    while site.ask_again("unfinished", list(runs)):
        assert time.monotonic() < deadline, "runs do not end"
        time.sleep(0.2)


def compare(site: ChaoticSite, runs: dict[int, str], expected: dict[str, Any]) -> tuple[int, int, int]:
    lost = doubled = different = 0
    for run, suite in runs.items():
        state = site.ask("state", run)
        if state["state"] != "done" or not state["has_results"]:
            lost += 1
            print(f"lost: run {run} of {suite} is {state['state']}: {state['error']}")
            continue
        found = results_of(site, run)
        if found["sentences"] > expected[suite]["sentences"]:
            doubled += 1
        elif found != expected[suite]:
            different += 1
    return lost, doubled, different


if __name__ == "__main__":
    sys.exit(main())
