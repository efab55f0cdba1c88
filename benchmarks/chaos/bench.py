"""Inject faults one at a time, and compare the runs with undisturbed ones."""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.chaos.faults import Faults
from benchmarks.chaos.site import PATIENCE, BenchSite, ChaoticSite, Work, url_of
from tests.lmgym.models.backends.test_lmzoo_backend import CONTAINER
from tests.process.site import ENDED, Site
from tests.services.conftest import execute

SUITES = ("agreement_orc", "filler_gap_object", "npi", "reflexive_orc")
PROGRAM = "program"
"""Slug of a model that runs an external program, which hangs while a certain file exists."""
WEIGHTS = "weights"
"""Slug of the model that is loaded from `weights`."""
LOOK_SECONDS = 0.1
WAITING = 3
"""Number of runs that are queued or running at any time."""


@dataclass
class Outcome:
    """Results of the benchmark. `took`: for each kind of fault, the seconds until the site had recovered."""

    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    runs: int = 0
    deleted: int = 0
    lost: int = 0
    doubled: int = 0
    different: int = 0
    minutes: float = 0.0

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.different)


def bench(
    faults: int,
    *,
    database: str = "sqlite",
    broker: str = "database",
    kinds: Sequence[str] = (),
    model: str = "demo-gpt2",
    suites: Sequence[str] = SUITES,
    seed: int = 1,
    weights: Path | None = None,
) -> Outcome:
    """Inject `faults` faults of these kinds (default: all) while runs of the model on the suites are in progress.
    Every other run is of the model in the file `weights`, if there is one."""
    template = f"ready{uuid.uuid4().hex[:12]}" if database == "postgresql" else ""
    with tempfile.TemporaryDirectory(prefix="chaos-") as top:
        folders = {name: Path(top, name) for name in ("prepared", "on SQLite", "calm", "chaos")}
        for folder in folders.values():
            folder.mkdir()
        hangs = Path(top, "hangs")
        hang = f'test -e {hangs} && sleep 60; exec "$@"'
        program = ["sh", "-c", hang, "sh", sys.executable, CONTAINER, "bos"]
        if template:
            execute(f"CREATE DATABASE {template}")
        try:
            environment = {"GYM_LMZOO_COMMANDS": json.dumps({PROGRAM: program})}
            if weights:
                environment["GYM_MODEL_DIR"] = str(weights.resolve().parent)
            with patch.dict(os.environ, environment):
                models = (model, WEIGHTS) if weights else (model,)
                work = [Work(suite, name) for suite in suites for name in models]
                expected = undisturbed(folders, template, work, weights)
                with closing(
                    ChaoticSite(folders["chaos"], folders["prepared"], template, broker, work, hangs)
                ) as site:
                    return chaos(site, faults, kinds, random.Random(seed), expected)
        finally:
            if template:
                execute(f"DROP DATABASE {template} WITH (FORCE)")


def undisturbed(
    folders: dict[str, Path], template: str, work: Sequence[Work], weights: Path | None
) -> dict[Work, Any]:
    """Return the results of each run on SQLite without faults. (Numbers do not depend on the database.)"""
    ready = {"prepared": url_of(template), "on SQLite": ""} if template else {"prepared": ""}
    for name, database in ready.items():
        with closing(BenchSite(folders[name], database)) as site:
            site.ask("prepare", work[0].model)
            site.ask("add_program", PROGRAM)
            if weights:
                site.ask("add_weights", WEIGHTS, weights.name)
    with closing(BenchSite(folders["calm"], like=folders[[*ready][-1]])) as site:
        runs = {
            work_item: site.ask("queue", *work_item) for work_item in [*work, Work(work[0].suite, PROGRAM)]
        }
        worker = site.worker()
        for run in runs.values():
            site.wait(run, lambda state: state["state"] == "done", 5 * PATIENCE)
        worker.terminate()
        worker.wait(timeout=30)
        return {work_item: results_of(site, run) for work_item, run in runs.items()}


def results_of(site: Site, run: int) -> dict[str, Any]:
    return {name: value for name, value in site.ask("results", run).items() if name != "cached"}


def chaos(
    site: ChaoticSite, n: int, only: Sequence[str], chance: random.Random, expected: dict[Work, Any]
) -> Outcome:
    outcome, begun = Outcome(), time.monotonic()
    faults = Faults(site, chance).kinds
    kinds = sorted(only or faults)
    for number in range(n):
        be_at_full_speed(site)
        time.sleep(chance.uniform(0.2, 2.0))
        kind = kinds[number % len(kinds)]
        under_way = site.ask_again("running", list(site.runs))
        faults[kind]()
        outcome.took[kind].append(recovery(site, under_way))
        print(f"{number + 1:4} {kind:30} works again after {outcome.took[kind][-1]:5.1f} s", flush=True)
    wait_for_all(site)
    compare(site, expected, outcome)
    outcome.minutes = (time.monotonic() - begun) / 60
    return outcome


def keep_busy(site: ChaoticSite) -> None:
    """Queue runs until WAITING are queued or running. Clear the stored scores before each, so that it
    computes its own.
    """
    unfinished = site.ask_again("unfinished", list(site.runs))
    for _ in range(WAITING - len(unfinished)):
        site.ask_again("forget_scores")
        site.queue(site.work[len(site.runs) % len(site.work)])


def be_at_full_speed(site: ChaoticSite) -> None:
    """Wait until both workers have finished their imports and advance a run."""
    begun, under_way = time.monotonic(), []
    while len(under_way) < 2:
        assert time.monotonic() - begun < PATIENCE, "a worker does not recover"
        keep_busy(site)
        under_way = site.ask_again("running", list(site.runs))
        time.sleep(LOOK_SECONDS)
    recovery(site, under_way)


def recovery(site: ChaoticSite, under_way: list[int]) -> float:
    """Measure the seconds until the site serves a page, every run in progress before the fault has advanced a step, and
    no deleted run is processed any longer.
    """
    begun = time.monotonic()
    left = [run for run in under_way if run in site.runs]
    before = site.ask_again("steps", left)
    while True:
        keep_busy(site)
        steps_now = site.ask_again("steps", left)
        go_on = all(steps_now[run] > steps or steps >= ENDED for run, steps in before.items())
        if go_on and site.answers() and not site.ask_again("active", list(site.deleted.values())):
            return time.monotonic() - begun
        assert time.monotonic() - begun < PATIENCE, "the site does not recover"
        time.sleep(LOOK_SECONDS)


def wait_for_all(site: ChaoticSite) -> None:
    deadline = time.monotonic() + PATIENCE * 2
    while site.ask_again("unfinished", list(site.runs)):
        assert time.monotonic() < deadline, "runs do not end"
        time.sleep(LOOK_SECONDS)


def compare(site: ChaoticSite, expected: dict[Work, Any], outcome: Outcome) -> None:
    outcome.runs, outcome.deleted = len(site.runs), len(site.deleted)
    if site.ask("remains", list(site.deleted)):
        outcome.different += 1
        print(f"different: data of the deleted runs {list(site.deleted)} remains")
    for run, work in site.runs.items():
        state = site.ask("state", run)
        if state["state"] != "done" or not state["has_results"]:
            outcome.lost += 1
            print(f"lost: run {run} of {work} is {state['state']}: {state['error']}")
            continue
        results = results_of(site, run)
        if results["sentences"] > expected[work]["sentences"]:
            outcome.doubled += 1
        elif results != expected[work]:
            outcome.different += 1
