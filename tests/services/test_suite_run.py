"""A suite run gives the same results on every database with every broker, also when its worker is killed."""

from __future__ import annotations

import os
import signal
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.process.site import Site
from tests.services.conftest import BROKERS, POSTGRES, execute, need

pytestmark = [pytest.mark.service, pytest.mark.process, pytest.mark.xdist_group("suite-run")]
SUITE, MODEL = "npi", "demo-ngram"
COMBINATIONS = [(database, broker) for database in ("sqlite", "postgresql") for broker in BROKERS]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict[str, Any]:
    """Results of a calm run on SQLite with our own broker."""
    site = Site(tmp_path_factory.mktemp("calm"))
    site.ask("prepare", MODEL)
    run = site.ask("queue", SUITE, MODEL)
    site.finish(run)
    results = site.ask("results", run)
    site.close()
    return results


@pytest.mark.parametrize(("database", "broker"), COMBINATIONS)
def test_a_killed_run_ends_with_the_results_of_a_calm_one(tmp_path: Path, undisturbed, database, broker):
    name = f"gym{uuid.uuid4().hex[:12]}"
    url = ""
    if broker != "database":
        need(BROKERS[broker])
    if database == "postgresql":
        need(POSTGRES)
        execute(f"CREATE DATABASE {name}")
        url = POSTGRES.rsplit("/", 1)[0] + f"/{name}"
    site = Site(tmp_path, database=url, broker=BROKERS[broker], namespace=name)
    try:
        site.ask("prepare", MODEL)
        run = site.ask("queue", SUITE, MODEL)
        worker = site.worker()
        site.wait(run, lambda now: now["done"] >= 2)
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        assert site.ask("state", run)["state"] == "running"
        site.finish(run)
        assert site.ask("state", run)["state"] == "done"
        assert site.ask("results", run) == undisturbed
    finally:
        site.close()
        if url:
            execute(f"DROP DATABASE {name} WITH (FORCE)")
