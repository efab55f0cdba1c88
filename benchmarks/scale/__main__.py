"""Scaling of one run over several workers, and throughput of the database.

    python -m benchmarks.scale [--database sqlite | postgresql] [--sentences 20000] [--workers 1 2] [--rounds 1]

Runs a suite of `--sentences` sentences with a model of GPT-2's smallest shape with random weights, once for each number
of worker processes, each with one torch thread and the model already loaded. Stored scores are cleared before each run.
Prints the seconds from claim to results, the chunks of each worker, and whether every stored bit is the same. Exits
with 1 if not.

Then, in one process, measures the seconds to store scores, to queue a job, and to claim a job while many wait.

PostgreSQL is at GYM_TEST_POSTGRES_URL, by default postgresql://postgres@127.0.0.1:5432; the benchmark's database is
dropped.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.chaos.site import url_of
from tests.process.site import ROOT, Site
from tests.services.conftest import execute

SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "gym.settings",
    "GYM_TORCH_THREADS": "1",
    "GYM_MAX_SENTENCES_PER_DAY": "0",
    "GYM_LOG_LEVEL": "WARNING",
}
LOOK_SECONDS = 2.0
"""Interval for polling the run. Polling slows down the workers; the printed seconds are those of the job."""
WAITING = (100, 20_000)
"""Numbers of queued jobs for which claims are timed."""


class ScaleSite(Site):
    def _start_console(self) -> subprocess.Popen[str]:
        self.env |= SETTINGS
        command = [sys.executable, "-m", "benchmarks.scale.console"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, env=self.env, cwd=ROOT, **pipes)

    @contextmanager
    def workers(self, number: int) -> Iterator[None]:
        started = [self.worker() for _ in range(number)]
        try:
            while self.ask("workers") < number:
                time.sleep(0.05)
            while self.ask("with_model") < number:
                self.ask("warm_up", 2 * number)
            yield
        finally:
            for worker in started:
                worker.terminate()
            for worker in started:
                worker.wait(timeout=60)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="postgresql")
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    name = f"scale{uuid.uuid4().hex[:12]}" if options.database == "postgresql" else ""
    if name:
        execute(f"CREATE DATABASE {name}")
    try:
        with (
            tempfile.TemporaryDirectory(prefix="scale-") as folder,
            closing(ScaleSite(Path(folder), url_of(name) if name else "")) as site,
        ):
            return measure(site, options)
    finally:
        if name:
            execute(f"DROP DATABASE {name} WITH (FORCE)")


def measure(site: ScaleSite, options: argparse.Namespace) -> int:
    parameters = site.ask(
        "prepare", options.sentences, str(Path(site.env["GYM_VAR_DIR"]) / "models" / "small")
    )
    print(f"{options.database}, {options.sentences:,} sentences, {parameters / 1e6:.1f} million parameters\n")
    print("| workers | seconds | share | chunks of each | bits |\n| -: | -: | -: | :- | :- |")
    first_digest, first_seconds = "", 0.0
    same = True
    for _ in range(options.rounds):
        for number in options.workers:
            with site.workers(number):
                run = site.ask("queue")
                while (state := site.ask("state", run))["state"] in {"queued", "running"}:
                    time.sleep(LOOK_SECONDS)
            digest = site.ask("digest", run)
            assert state["state"] == "done", state
            first_digest, first_seconds = first_digest or digest, first_seconds or state["seconds"]
            same &= digest == first_digest
            share = state["seconds"] / first_seconds
            bits = "the same" if digest == first_digest else "different"
            shares = ", ".join(map(str, site.ask("shares", run)))
            print(f"| {number} | {state['seconds']:.1f} | {share:.0%} | {shares} | {bits} |", flush=True)
    stored = 20_000
    print(f"\nscores stored by one process: {stored / site.ask('store', stored):,.0f} sentences a second")
    print(f"a job is queued in {1000 * site.ask('enqueue_seconds', 500):.1f} ms")
    for waiting in WAITING:
        seconds = site.ask("claim", 50, waiting)
        print(f"claimed and ended in {1000 * seconds:.1f} ms while {waiting:,} wait")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
