"""All checks of schemathesis against a live site with PostgreSQL and a worker, where changes are not rolled
back.

GYM_FUZZ_TIMES (default 5) is the number of random requests per operation. GYM_FUZZ_ONLY (a regular
expression) restricts the test to matching addresses. The boundaries of the description, 8,000 more requests,
are tested by `python -m benchmarks.attacks.schema`."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

from benchmarks.attacks.schema import NO_LIMITS, attack_there, configuration
from tests.process.live import LiveSite
from tests.services.conftest import POSTGRES, execute, need

pytestmark = [pytest.mark.service, pytest.mark.process, pytest.mark.long]
TIMES = int(os.environ.get("GYM_FUZZ_TIMES", "5"))
LEAST = 1_000
ONLY = os.environ.get("GYM_FUZZ_ONLY", "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    need(POSTGRES)
    name = f"fuzz{uuid.uuid4().hex[:12]}"
    execute(f"CREATE DATABASE {name}")
    limits = {setting: str(value) for setting, value in NO_LIMITS.items()}
    database = POSTGRES.rsplit("/", 1)[0] + f"/{name}"
    site = LiveSite(tmp_path_factory.mktemp("site"), database, "prepare_schema", **limits)
    yield site
    site.close()
    execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_no_request_of_staff_finds_an_answer_that_is_not_described(site):
    # One thread: in CPython 3.11, parallel imports by two threads of Hypothesis fail while modules are new to
    # the process.
    phases = ["examples", "fuzzing", "stateful"]
    config = configuration("staff", site.things, times=TIMES, phases=phases, workers=1)
    found = attack_there(site.url, config, only=ONLY)
    assert not found.failures, str(found)
    assert ONLY or found.cases.total() >= LEAST
    log = Path(site.log.name).read_text(encoding="utf-8")
    assert "Traceback" not in log, log[log.index("Traceback") :][:4_000]
