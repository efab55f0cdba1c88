"""A suite run on PostgreSQL has the same results as an undisturbed run on SQLite, with each broker, even if
its worker is killed. tests/process/test_kill_the_worker.py covers SQLite; test_combinations runs simpler jobs
on each pair of database and broker."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.process.site import Site
from tests.services.conftest import BROKERS, POSTGRES, execute, need

pytestmark = [pytest.mark.service, pytest.mark.process]
SUITE, MODEL = "npi", "demo-ngram"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Iterator[dict[str, tuple[Path, str]]]:
    """Folder and database of a closed site on each kind of database, with a model that is ready to run."""
    need(POSTGRES)
    name = f"ready{uuid.uuid4().hex[:12]}"
    execute(f"CREATE DATABASE {name}")
    found = {
        "sqlite": (tmp_path_factory.mktemp("sqlite"), ""),
        "postgresql": (tmp_path_factory.mktemp("pg"), name),
    }
    for folder, database in found.values():
        site = Site(folder, database=url_of(database))
        site.ask("prepare", MODEL)
        site.close()
    yield found
    execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, prepared) -> dict[str, Any]:
    """Results of an undisturbed run on SQLite with our own broker."""
    site = Site(tmp_path_factory.mktemp("calm"), like=prepared["sqlite"][0])
    run = site.ask("queue", SUITE, MODEL)
    site.finish(run)
    results = site.ask("results", run)
    site.close()
    return results


def url_of(database: str) -> str:
    return POSTGRES.rsplit("/", 1)[0] + f"/{database}" if database else ""


@pytest.mark.parametrize("broker", ["redis", pytest.param("rabbitmq", marks=pytest.mark.long)])
def test_a_killed_run_ends_with_the_results_of_a_calm_one(tmp_path: Path, prepared, undisturbed, broker):
    need(BROKERS[broker])
    name = f"gym{uuid.uuid4().hex[:12]}"
    folder, template = prepared["postgresql"]
    execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    site = Site(tmp_path, database=url_of(name), broker=BROKERS[broker], namespace=name, like=folder)
    try:
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
        execute(f"DROP DATABASE {name} WITH (FORCE)")
