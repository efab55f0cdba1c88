"""All checks of schemathesis against a live site with PostgreSQL: no 5xx, and no answer that is not described.

GYM_FUZZ_EXAMPLES (default 8) is the number of random requests per operation; those of the coverage phase, about 3,000,
come on top."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.process.live import LiveSite
from tests.services.conftest import POSTGRES, execute, need

pytestmark = [pytest.mark.service, pytest.mark.process, pytest.mark.xdist_group("process")]
CONFIG = Path(__file__).with_name("schemathesis.toml")
NO_LIMITS = dict.fromkeys(
    (
        "GYM_API_REQUESTS_PER_MINUTE",
        "GYM_MAX_ACTIVE_JOBS_PER_USER",
        "GYM_SIGN_IN_TRIES_PER_ADDRESS",
        "GYM_MAX_SENTENCES_PER_DAY",
    ),
    "0",
)
LEAST = 2_000


@pytest.fixture
def site(tmp_path):
    need(POSTGRES)
    name = f"fuzz{uuid.uuid4().hex[:12]}"
    execute(f"CREATE DATABASE {name}")
    site = LiveSite(tmp_path, POSTGRES.rsplit("/", 1)[0] + f"/{name}", **NO_LIMITS)
    yield site
    site.close()
    execute(f"DROP DATABASE {name} WITH (FORCE)")


def config_for(site: LiveSite, folder: Path) -> Path:
    """The kept configuration, with the names of things that are there."""
    things = site.things
    known = {
        "path.slug": [*things["suites"], things["model"]],
        "path.key": things["runs"],
        "path.number": [1, 2],
        "path.a": [1, 2],
        "path.b": [1, 2],
        "path.form": ["json", "json-trimmed", "json-early", "csv", "tsv"],
        "path.username": ["bob", "staff"],
        "path.kind": ["uniform", "causal"],
        "body.model": [things["model"]],
        "body.suite": things["suites"],
    }
    lines = [CONFIG.read_text(encoding="utf-8"), "[parameters]"]
    lines += [
        f'"{name}" = {{ dictionary = "{name.replace(".", "-")}", probability = 0.7 }}' for name in known
    ]
    for name, values in known.items():
        lines += [f"[dictionaries.{name.replace('.', '-')}]", f"values = {json.dumps(values)}"]
    path = folder / "schemathesis.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_no_request_finds_an_answer_that_is_not_described(site, tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            *("-m", "schemathesis.cli", "--config-file", str(config_for(site, tmp_path))),
            *("run", f"{site.url}/api/v1/schema/", "--no-color", "--workers", "2"),
            *("-H", f"Authorization: Bearer {site.things['tokens']['staff']}"),
            *("--max-examples", os.environ.get("GYM_FUZZ_EXAMPLES", "8")),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    generated = re.search(r"([0-9]+) generated", done.stdout)
    assert generated, done.stdout[-2_000:]
    assert int(generated[1]) >= LEAST
    log = (tmp_path / "worker.log").read_text(encoding="utf-8")
    assert "Traceback" not in log, log[log.index("Traceback") :][:4_000]
