"""Attack: schemathesis sends valid and invalid requests, generated from the API description, to the site in this
process.

.venv/bin/python -m benchmarks.attacks.schema [--cases 20000] [--seed 20260301] [--role owner] [--only REGEX]

Three roles: anonymous, an owner, staff. Exits with 1 on a failure: a 5xx, an undocumented response, or any other failed
check. All checks of schemathesis run except two: `object_level_authorization` needs two accounts in one run, and
tests/permissions covers it for every address; `max_response_time` is what the other attacks measure.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest import mock

if __name__ == "__main__":
    import django

    folder = tempfile.TemporaryDirectory()
    os.environ |= {"DJANGO_SETTINGS_MODULE": "gym.settings", "GYM_VAR_DIR": folder.name}
    django.setup()

import requests
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connection, connections, transaction
from django.test.utils import override_settings
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.engine.run import PhaseName
from schemathesis.transport.wsgi import WSGITransport

from gym.api.description import text as description

SEED = 20260301
ROLES = ("nobody", "owner", "staff")
ADDRESS = "/api/v1/schema/"
PHASES = ("examples", "coverage", "fuzzing", "stateful")
"""Phases of schemathesis: the examples in the description, each of its boundaries (about 8,000 requests as staff),
random requests, and sequences in which a request uses an earlier response.
"""
NO_LIMITS = dict.fromkeys(
    (
        "GYM_API_REQUESTS_PER_MINUTE",
        "GYM_MAX_ACTIVE_JOBS_PER_USER",
        "GYM_SIGN_IN_TRIES_PER_ADDRESS",
        "GYM_MAX_SENTENCES_PER_DAY",
    ),
    0,
)
LONGEST_COMMAND = 2_000
SEND = WSGITransport.send

ACCEPTED = [200, 201, 202, 204, 307, 400, 403, 404, 409, 410, 412, 422, 428]
"""Statuses allowed in response to a valid request. 5xx has a check of its own.

400 and 422: JSON Schema does not describe the languages of formulas, suites, edits and configurations. 404
and 410: the named object does not exist, or no longer exists; 307: it has a new address. 403: the role lacks
permission. 409, 412, 428: a well-formed request may conflict with the current state. Never 401, 406, 413, 415
or 429: the client has a token and no limits, and sends small requests in a supported format.
"""
ACCEPTED_READING = [200, 202, 307, 400, 404, 409, 410]
"""Statuses allowed in response to a valid read. 409: the suite cannot be represented in the export format."""
REFUSED = [307, 400, 401, 403, 404, 405, 406, 409, 410, 412, 413, 415, 422, 428, 429]
"""Statuses allowed in response to an invalid request. 307, 404 and 410 are decided before the body is read."""


def configuration(
    role: str,
    things: dict[str, Any],
    *,
    times: int,
    seed: int = SEED,
    phases: Collection[str] = PHASES,
    workers: int = 1,
) -> SchemathesisConfig:
    """Build the configuration of schemathesis. `times`: random requests per operation.

    `things`: tokens and names, see tests.process.ask.prepare_schema.
    """
    known = names_of(things)
    headers = {"Accept-Encoding": "identity"}  # the client in this process does not decompress
    if role != "nobody":
        headers["Authorization"] = f"Bearer {things['tokens'][role]}"
    # Most requests of anonymous clients are refused, valid or not. Owners may not read every draft; staff may.
    accepting = {"enabled": role != "nobody", "expected-statuses": ACCEPTED}
    reading = accepting | {"expected-statuses": [*ACCEPTED_READING, *([403] if role == "owner" else [])]}
    return SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "workers": workers,
            "headers": headers,
            "continue-on-failure": True,
            "request-timeout": 30,
            "cache": {"enabled": False},
            "suppress-health-check": ["all"],
            "generation": {
                "max-examples": times,
                "allow-x00": False,  # U+0000 in a text is always a 400, which has a separate test
                "codec": "utf-8",
                "no-shrink": True,
                "database": "none",
            },
            "phases": {name: {"enabled": name in phases} for name in PHASES},
            "checks": {
                "positive_data_acceptance": accepting,
                "negative_data_rejection": {"expected-statuses": REFUSED},
            },
            "operations": [{"include-method": "GET", "checks": {"positive_data_acceptance": reading}}],
            "dictionaries": {name.replace(".", "-"): {"values": values} for name, values in known.items()},
            "parameters": {
                name: {"dictionary": name.replace(".", "-"), "probability": 0.7} for name in known
            },
        }
    )


def names_of(things: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the values of parameters that name an object."""
    forms = (
        *(
            "json",
            "json-trimmed",
            "json-early",
            "csv",
            "tsv",
            "blimp",
            "lm-eval",
            "inspect-ai",
            "bib",
            "zip",
            "svg",
            "md",
        ),
        *("long.csv", "parquet", "junit", "corpus.txt", "corpus.jsonl", "targets.log"),
        *("predictions.log.gz", "statistics.json", "answers.tsv", "prompts.jsonl", "file", "processes.csv"),
    )
    others = [things["model"], *things["agents"], things["corpus"], things["answer_set"]]
    keys = [*things["runs"], things["agent_run"], *things["games"], *things["submissions"]]
    return {
        "path.slug": [*things["suites"], *others],
        "path.key": [*keys, *things.get("scores", [])],
        "path.job": things.get("jobs", ["0b9f6a4e-5a0e-4d8b-9c3f-6f1f3f0c2a77"]),
        "path.process_id": [7],
        "path.id": things["ids"],
        "path.suite": things["suites"],
        "path.what": ["scores", "outcomes", "regions", "tokens"],
        "path.number": [1, 2],
        "path.a": [1, 2],
        "path.b": [1, 2],
        "path.form": list(forms),
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


@dataclass
class RoleResults:
    """Responses to one role. `failures`: each failure once, with a command that reproduces it."""

    operations: set[str] = field(default_factory=set)
    cases: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    failures: dict[object, str] = field(default_factory=dict)

    def add(self, event: events.EngineEvent) -> None:
        if isinstance(event, events.FatalError):
            raise event.exception
        if isinstance(event, events.NonFatalError):
            self.failures.setdefault(f"{event.label}: {event.value}", event.info.format())
        elif isinstance(event, events.ScenarioFinished):
            recorder = event.recorder
            self.cases[event.phase.value] += len(recorder.cases)
            self.operations |= {node.value.operation.label for node in recorder.cases.values()}
            answers = (sent.response for sent in recorder.interactions.values())
            self.statuses.update(answer.status_code for answer in answers if answer is not None)
            for node in (node for nodes in recorder.checks.values() for node in nodes):
                if (info := node.failure_info) is not None:
                    self.failures.setdefault(info.failure, info.code_sample)

    def __str__(self) -> str:
        cases = ", ".join(f"{phase} {count:,}" for phase, count in self.cases.items())
        answers = ", ".join(f"{status}: {count:,}" for status, count in sorted(self.statuses.items()))
        lines = [
            f"{len(self.operations)} operations, {self.cases.total():,} cases ({cases}); answers {answers}"
        ]
        for failure, command in self.failures.items():
            lines += ["", f"{getattr(failure, 'operation', '')}: {failure}", command[:LONGEST_COMMAND]]
        return "\n".join(lines)


class RollbackApp:
    """The site as a WSGI application that rolls back each request after its response, so that every request finds all
    objects, including its own account and token. With `keeps`, the requests of a sequence see each other's changes.
    """

    def __init__(self) -> None:
        self._site = WSGIHandler()
        self._connection = connections["default"]
        self.keeps = False

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        connections["default"] = self._connection  # schemathesis sends requests in its own thread
        with transaction.atomic():
            answer = self._site(environ, start_response)
            with closing(answer):
                body = b"".join(answer)
            if not self.keeps:
                transaction.set_rollback(True)
        return [body]


@contextmanager
def site() -> Iterator[RollbackApp]:
    """Provide the site without limits and without outgoing connections. A worker runs jobs while a request waits for
    them. All changes are rolled back at the end.
    """
    from gym.jobs.testing import run_pending

    worker = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: run_pending("preview"))
    with ExitStack() as stack:
        stack.enter_context(override_settings(**NO_LIMITS, GYM_NET_ALLOW=[]))
        for waits in ("gym.jobs.services", "gym.runs.work.preview"):
            stack.enter_context(mock.patch(f"{waits}.time", worker))
        stack.enter_context(mock.patch.object(WSGITransport, "send", _send))
        for signal in (
            request_started,
            request_finished,
        ):  # the connection to PostgreSQL would be closed in its transaction
            signal.disconnect(close_old_connections)
            stack.callback(signal.connect, close_old_connections)
        connection.inc_thread_sharing()
        stack.callback(connection.dec_thread_sharing)
        stack.enter_context(transaction.atomic())
        stack.callback(partial(transaction.set_rollback, True))
        yield RollbackApp()


def _send(transport: WSGITransport, case: Any, *, session: Any = None, **options: Any) -> Any:
    """Send a request with a session. Without one, schemathesis 4.32 passes options that only sockets support, such as
    `max_redirects`, and its check for ignored authentication uses no session.
    """
    return SEND(transport, case, session=session or requests.Session(), **options)


def attack_here(config: SchemathesisConfig, *, only: str = "") -> RoleResults:
    """Attack the site in this process, with the current database."""
    with site() as app:
        schema = schemathesis.openapi.from_wsgi(ADDRESS, app, config=config)
        responses = RoleResults()
        for event in _events(schema, only):
            if isinstance(event, events.PhaseStarted):
                app.keeps = event.phase.name == PhaseName.STATEFUL_TESTING
            responses.add(event)
        return responses


def attack_there(url: str, config: SchemathesisConfig, *, only: str = "") -> RoleResults:
    """Attack a served site. Nothing is rolled back."""
    responses = RoleResults()
    for event in _events(schemathesis.openapi.from_url(url + ADDRESS, config=config), only):
        responses.add(event)
    return responses


def _events(schema: schemathesis.BaseSchema, only: str) -> Iterable[events.EngineEvent]:
    """Run schemathesis on the addresses that match the regular expression `only`."""
    return from_schema(schema.exclude(lambda context: not re.search(only, context.operation.path))).execute()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000, help="number of random requests, over all roles")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--role", choices=ROLES, action="append", help="may be repeated")
    parser.add_argument("--only", default="", help="regular expression for addresses")
    options = parser.parse_args()
    roles = options.role or ROLES
    operations = sum(len(methods) for methods in json.loads(description())["paths"].values())
    times = max(1, options.cases // len(roles) // operations)

    from django.test.runner import DiscoverRunner

    from tests.process.ask import prepare_schema

    logging.disable(logging.WARNING)
    runner = DiscoverRunner(verbosity=0, interactive=False)
    runner.setup_test_environment()
    databases = runner.setup_databases()
    things = prepare_schema()
    failures = 0
    for role in roles:
        config = configuration(role, things, times=times, seed=options.seed)
        responses = attack_here(config, only=options.only)
        print(f"{role}: {responses}\n", flush=True)
        failures += len(responses.failures)
    runner.teardown_databases(databases)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
