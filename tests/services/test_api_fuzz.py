"""All checks of schemathesis against a live site with PostgreSQL: no 5xx, and no answer that is not described.

GYM_FUZZ_EXAMPLES (default 8) is the number of random requests per operation; those of the coverage phase, about 3,000,
come on top. GYM_FUZZ_ONLY (a regular expression) narrows it to addresses, for work on some of them."""

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
LEAST = {"anonymous": 500, "staff": 2_000}
ONLY = os.environ.get("GYM_FUZZ_ONLY", "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    need(POSTGRES)
    name = f"fuzz{uuid.uuid4().hex[:12]}"
    execute(f"CREATE DATABASE {name}")
    site = LiveSite(tmp_path_factory.mktemp("site"), POSTGRES.rsplit("/", 1)[0] + f"/{name}", **NO_LIMITS)
    yield site
    site.close()
    execute(f"DROP DATABASE {name} WITH (FORCE)")


def config_for(site: LiveSite, folder: Path) -> Path:
    """The kept configuration, with the names of things that are there."""
    things = site.things
    known = {
        "path.slug": [
            *things["suites"],
            things["model"],
            *things["agents"],
            things["corpus"],
            things["answer_set"],
        ],
        "path.key": [*things["runs"], things["agent_run"], *things["games"], *things["submissions"]],
        "path.process_id": [7],
        "path.id": things["ids"],
        "path.suite": things["suites"],
        "path.what": ["scores", "outcomes", "regions", "tokens"],
        "path.number": [1, 2],
        "path.a": [1, 2],
        "path.b": [1, 2],
        "path.form": [
            *("json", "json-trimmed", "json-early", "csv", "tsv", "blimp", "lm-eval", "bib", "zip"),
            *(
                "svg",
                "md",
                "long.csv",
                "parquet",
                "junit",
                "corpus.txt",
                "sorted.jsonl",
                "vocabulary.tsv",
                "targets.log",
            ),
            *(
                "predictions.log.gz",
                "statistics.json",
                "answers.tsv",
                "prompts.jsonl",
                "file",
                "processes.csv",
            ),
        ],
        "path.username": ["bob", "staff"],
        "path.kind": ["uniform", "causal", "suite-models", "run-regions", "run-margins", "leaderboard-heat"],
        "body.model": [things["model"]],
        "body.suite": [*things["suites"], "manners"],
        "body.agent": ["echoes"],
        "body.collection": ["kept"],
        "query.run": things["runs"],
        "query.suite": things["suites"],
        "query.of": [things["model"]],
        "query.first": [things["agent_run"], things["submissions"][0]],
        "query.second": [things["agent_run"], things["submissions"][1]],
        "query.games": [",".join(things["games"]), things["games"][0]],
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


# Who may nothing changes nothing, so that the second finds everything there.
WHO = {
    "anonymous": ["--exclude-checks", "positive_data_acceptance", "--phases", "examples,fuzzing"],
    "staff": [],
}


@pytest.mark.parametrize("who", WHO)
def test_no_request_finds_an_answer_that_is_not_described(site, tmp_path, who):
    signed = ["-H", f"Authorization: Bearer {site.things['tokens'][who]}"] if who != "anonymous" else []
    done = subprocess.run(
        [
            sys.executable,
            *("-m", "schemathesis.cli", "--config-file", str(config_for(site, tmp_path))),
            *("run", f"{site.url}/api/v1/schema/", "--no-color", "--workers", "2"),
            *signed,
            *("--max-examples", os.environ.get("GYM_FUZZ_EXAMPLES", "8")),
            *(("--include-path-regex", ONLY) if ONLY else ()),
            *WHO[who],
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    generated = re.search(r"([0-9]+) generated", done.stdout)
    assert generated, done.stdout[-2_000:]
    assert int(generated[1]) >= (0 if ONLY else LEAST[who])
    log = Path(site.log.name).read_text(encoding="utf-8")
    assert "Traceback" not in log, log[log.index("Traceback") :][:4_000]
