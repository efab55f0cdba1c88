"""Load test: readers, authors and queued runs, on a site served by `manage.py serve`.

    python -m benchmarks.load [--database sqlite | postgresql] [--parts readers during-runs authors runs lesson]
                              [--suites 1000] [--models 50] [--readers 100] [--seconds 60] [--runs 1000]

Creates a site in which every model has run on every suite, then executes one part after the other:

readers      each requests public pages without an account, one after the other without a pause
during-runs  readers request 50 pages a second in total while runs of the demo are in progress
             both are repeated without the leaderboard
authors      20 authors, two per draft; each changes a cell per second through the API, as the grid does
lesson       only on request: the authors are a class that also opens pages and queues runs;
             `--parts lesson --authors 30 --seconds 600 --pause 2 --suites 20 --models 3` is ten minutes of 30 accounts
visitors     only on request: 8 readers of ten pages, most of them for the first time; then 8, 50 and 100; readers who
             have the pages and ask whether they changed (304); and readers of the front page of another Django site
             as a scale (benchmarks.load.other_site)
runs         1,000 are queued at once; the memory of every process is sampled every ten runs

Prints Markdown tables. Clients and site share the cores of the machine, so the site would be faster without the
clients. Exits with 1 if a request failed, an edit was lost, a run failed, or the database was locked.

PostgreSQL is at GYM_TEST_POSTGRES_URL, by default postgresql://postgres@127.0.0.1:5432; the benchmark's database is
dropped.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.chaos.site import url_of
from benchmarks.load.clients import is_success
from benchmarks.load.other_site import OtherSite
from benchmarks.load.site import LoadedSite
from tests.services.conftest import execute

PARTS = ["readers", "during-runs", "authors", "runs"]
ON_REQUEST = ["lesson", "visitors"]
CONNECTIONS = (8, 50, 100)
"""Numbers of readers of `visitors`."""
WARM = 8
"""Number of readers, and seconds, of the warm-up, after which every process has compiled the templates."""
SAMPLE = 10
"""Number of runs between two memory samples, and between clearings of the stored scores."""
GOAL_RUNS = 100
"""Number of the last runs over which the growth of memory is also reported."""


def main() -> int:
    options = arguments()
    signal.signal(
        signal.SIGTERM, lambda number, frame: sys.exit(128 + number)
    )  # so that the site is stopped as well
    name = f"load{uuid.uuid4().hex[:12]}" if options.database == "postgresql" else ""
    if name:
        execute(f"CREATE DATABASE {name}")
    try:
        with (
            tempfile.TemporaryDirectory(prefix="load-") as folder,
            closing(LoadedSite(Path(folder), url_of(name) if name else "")) as site,
        ):
            return Bench(site, options).run()
    finally:
        if name:
            execute(f"DROP DATABASE {name} WITH (FORCE)")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--parts", nargs="+", choices=PARTS + ON_REQUEST, default=PARTS)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2, help="web processes")
    parser.add_argument("--suites", type=int, default=1000)
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--items", type=int, default=20, help="items per suite")
    parser.add_argument("--seconds", type=float, default=60, help="duration of each part except runs")
    parser.add_argument("--readers", type=int, default=100, help="connections")
    parser.add_argument("--rate", type=float, default=50, help="pages per second during runs")
    parser.add_argument("--authors", type=int, default=20)
    parser.add_argument("--pause", type=float, default=1, help="seconds between two edits of an author")
    parser.add_argument("--runs", type=int, default=1000)
    return parser.parse_args()


class Bench:
    def __init__(self, site: LoadedSite, given: argparse.Namespace) -> None:
        self.site, self.given = site, given
        self.times: list[list[str]] = []
        self.cores: list[list[str]] = []
        self.more: list[str] = []
        self.wrong = 0

    def run(self) -> int:
        options, begun = self.given, time.monotonic()
        made = self.site.ask("prepare", options.suites, options.models, options.items, options.authors)
        self.authors_given = made["authors"]
        self.pages = made["pages"]
        self.pairs = made["lesson"]
        say(f"{made['outcomes']:,} outcomes, filled in {time.monotonic() - begun:.0f} s")
        self.site.start_serving(options.workers, options.processes)
        self.measure("", readers=WARM, seconds=WARM)
        self.times, self.cores = [], []
        for part in options.parts:
            begun = time.monotonic()
            getattr(self, part.replace("-", "_"))()
            say(f"{part}: {time.monotonic() - begun:.0f} s")
        locked = self.site.logged("database is locked")
        print(
            f"\n{options.database}, {options.suites:,} suites x {options.models} models, {options.workers} worker(s), "
            f"{options.processes} web processes, {time.strftime('%Y-%m-%d')}. Clients and site share {os.cpu_count()} "
            f"cores. In the log: “database is locked” {locked} times, {self.site.logged('Traceback')} tracebacks, "
            f"{self.site.logged('starting it again')} processes were restarted."
        )
        if self.times:
            print(
                table(
                    ["load", "requests", "errors", "per second", "CPU ms", "p50 ms", "p95 ms", "p99 ms"],
                    self.times,
                )
            )
            print(table(["busy cores", "clients", "web processes", "workers", "all others"], self.cores))
        print("\n".join(self.more))
        return int(bool(self.wrong or locked))

    def mixes(self) -> dict[str, Any]:
        """Return the pages to request, with and without the leaderboard, which grows with the site and delays the
        others.
        """
        others = {page: addresses for page, addresses in self.pages.items() if page != "leaderboard"}
        return {"": self.pages, ", no leaderboard": others}

    def readers(self) -> None:
        for mix, pages in self.mixes().items():
            what = f"{self.given.readers} readers{mix}"
            answers = self.measure(what, readers=self.given.readers, pages=pages)
            rows = [timed(page, [answer for answer in answers if answer[0] == page]) for page in pages]
            self.more.append(table([what, "requests", "errors", "p50 ms", "p95 ms", "p99 ms"], rows))

    def visitors(self) -> None:
        pages = self.site.ask("ten_pages")
        self.measure("the first 8 readers of ten pages", readers=WARM, seconds=WARM, pages=pages)
        for number in CONNECTIONS:
            what = f"{number} readers of ten pages"
            answers = self.measure(what, readers=number, pages=pages)
            rows = [
                [*timed(page, of_page), f"{max((size for *_, size in of_page), default=0) / 1000:.0f}"]
                for page in pages
                if (of_page := [answer for answer in answers if answer[0] == page]) is not None
            ]
            self.more.append(
                table([what, "requests", "errors", "p50 ms", "p95 ms", "p99 ms", "kB sent"], rows)
            )
        self.measure(
            f"{CONNECTIONS[1]} readers, unchanged pages (304)",
            readers=CONNECTIONS[1],
            pages=pages,
            revalidate=True,
        )
        with closing(OtherSite(self.given.processes)) as other:
            for number in CONNECTIONS:
                self.measure(
                    f"{number} readers of another site",
                    readers=number,
                    pages={"front page": ["/"]},
                    port=other.port,
                )

    def during_runs(self) -> None:
        first = self.site.ask("queue", 2)[0]

        def keep_busy() -> None:
            if self.site.ask("states", first).get("queued", 0) < 2:
                self.site.ask("forget_scores")
                self.site.ask("queue", 3)

        for mix, pages in self.mixes().items():
            what = f"{self.given.rate:g} pages a second during runs{mix}"
            self.measure(what, keep_busy, readers=self.given.readers, rate=self.given.rate, pages=pages)
        self.finish(first)

    def authors(self) -> None:
        self.measure(f"{self.given.authors} authors", authors=self.authors_given, pause=self.given.pause)

    def lesson(self) -> None:
        what = f"a class of {self.given.authors}"
        first = self.site.ask("queue", 1)[0]
        answers = self.measure(what, authors=self.authors_given, pause=self.given.pause, lesson=self.pairs)
        kinds = sorted({kind for kind, *_ in answers})
        rows = [timed(kind, [answer for answer in answers if answer[0] == kind]) for kind in kinds]
        self.more.append(table([what, "requests", "errors", "p50 ms", "p95 ms", "p99 ms"], rows))
        self.finish(first)

    def runs(self) -> None:
        queued, begun = self.site.ask("queue", self.given.runs), time.monotonic()
        samples = self.finish(queued[0])
        say(f"{len(queued):,} runs took {time.monotonic() - begun:.0f} s, {len(samples)} memory samples")
        half, last = len(samples) // 2, min(GOAL_RUNS // SAMPLE, len(samples) - 1)
        rows = []
        for name in samples[-1]:
            memory = [sample.get(name, math.nan) for sample in samples]
            rows.append(
                [
                    name,
                    *(f"{memory[k]:.0f}" for k in (0, half, -1)),
                    *(growth(memory[k:]) for k in (half, -last)),
                ]
            )
        head = [f"MB after {SAMPLE * number:,} runs" for number in (1, half + 1, len(samples))]
        self.more.append(
            table(["process", *head, "growth over the last half", f"over the last {GOAL_RUNS} runs"], rows)
        )

    def finish(self, first: int) -> list[dict[str, float]]:
        """Wait for all runs from `first` on. Returns the memory of each process after every ten of them."""
        samples: list[dict[str, float]] = []
        while True:
            states = self.site.ask("states", first)
            if states.get("done", 0) >= SAMPLE * (len(samples) + 1):
                samples.append(self.site.memory())
                self.site.ask("forget_scores")
            if not states.get("queued") and not states.get("running"):
                failed = sum(number for state, number in states.items() if state != "done")
                self.wrong += failed
                say(f"{states.get('done', 0)} runs are done, {failed} failed")
                return samples
            time.sleep(0.2)

    def measure(self, what: str, meanwhile: Callable[[], None] | None = None, **plan: Any) -> list[Any]:
        """Let clients execute a plan, and return their requests. Adds rows of times and of busy cores."""
        default = {
            "readers": 0,
            "authors": [],
            "lesson": [],
            "rate": 0,
            "pages": self.pages,
            "seconds": self.given.seconds,
            "revalidate": False,
            "port": self.site.port,
        }
        text: str | None = json.dumps(default | plan)
        before, begun, clients = self.site.cpu(), time.monotonic(), self.site.clients()
        while True:
            try:
                output, _ = clients.communicate(text, timeout=0.3)
                break
            except subprocess.TimeoutExpired:
                text = None  # sent already
                if meanwhile is not None:
                    meanwhile()
        seconds, after, result = time.monotonic() - begun, self.site.cpu(), json.loads(output)
        for error in result["errors"]:
            say(error)
        answers, lost = result["answers"], result["lost"]
        self.wrong += lost + sum(not is_success(status) for _, _, status, _ in answers)
        spent = 1000 * (after["web"] - before["web"]) / max(1, len(answers))
        self.times.append(timed(what, answers, f"{len(answers) / result['seconds']:.1f}", f"{spent:.1f}"))
        if lost:
            say(f"{what}: {lost} edits were lost")
        busy = {"clients": result["cpu"]} | {name: after[name] - before[name] for name in ("web", "worker")}
        others = after["machine"] - before["machine"] - sum(busy.values())
        self.cores.append([what, *(f"{spent / seconds:.2f}" for spent in (*busy.values(), others))])
        return list(answers)


def timed(what: str, answers: Sequence[Any], *between: str) -> list[str]:
    """Format a row: number of requests, number of failures, and percentiles of the others."""
    good = sorted(seconds for _, seconds, status, _ in answers if is_success(status))
    shown = [
        f"{1000 * good[math.ceil(part * len(good)) - 1]:,.0f}" if good else "–" for part in (0.5, 0.95, 0.99)
    ]
    return [what, f"{len(answers):,}", str(len(answers) - len(good)), *between, *shown]


def growth(samples: Sequence[float]) -> str:
    """Format the growth from the first to the last sample, each the mean of up to three."""
    few = max(1, min(3, len(samples) // 2))
    return f"{100 * (statistics.mean(samples[-few:]) / statistics.mean(samples[:few]) - 1):+.1f} %"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, [":-", *["-:"] * (len(head) - 1)], *rows]
    return "\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
