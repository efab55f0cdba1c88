"""Permissions: the REST API. tests/api/test_every_operation.py fails for an operation without a row.

A missing body is a 400 for users with permission. The others get 401, 403 or 404 before the body is read."""

from __future__ import annotations

from typing import Any

from gym.jobs.models import Job
from gym.runs.work.score_requests import queue_scores
from gym.runs.work.services import queue_run
from lmgym.models.engine import ScoringPolicy
from models_registry.models import RegisteredModel
from suites.models import Suite
from suites.services import open_draft
from tests.factories import make_model, make_suite
from tests.permissions.sections import HIDDEN, NOT_FOUND, OPEN, Row

MEMBERS = (401, 200, 200, 200, 200, 200)
SENDERS = (401, 400, 400, 400, 400, 400)
OWNERS = (401, 404, 404, 404, 200, 200)
ALICES = (404, 404, 404, 404, 200, 200)


def add_objects(people: Any, world: dict[str, Any]) -> None:
    """Create alice's private suite with a draft, which bob may edit and dora view; a public suite with a
    draft; runs; a request for scores; and objects to delete.
    """
    for name in ("api-work", "api-doomed"):
        suite = make_suite(people.alice, name=name, visibility="private")
        roles = ((people.bob, "edit"), (people.dora, "view"))
        for user, role in roles:
            suite.collaborations.create(user=user, role=role)
        open_draft(suite, actor=people.alice)
    open_draft(make_suite(people.alice, name="api-drafted"), actor=people.alice)
    work = Suite.objects.get(slug="api-work")
    model = RegisteredModel.objects.get(slug="public-model")
    make_model(people.alice, slug="api-waiting", visibility="private", status="unapproved")
    for name in ("api-run", "api-run-doomed"):
        run = queue_run(work.latest_frozen, model, actor=people.alice)
        world[name] = run.key
        world[f"{name}-job"] = run.job_id
    world["api-score"] = queue_scores(["The cat."], model, ScoringPolicy(), actor=people.alice).key
    doomed = Job.objects.get(pk=world.pop("api-run-doomed-job"))
    Job.objects.filter(pk=doomed.pk).update(state="failed", error="x", finished=doomed.created)


ROWS: list[Row] = [
    ("GET", "api-root", [], OPEN),
    ("GET", "api-schema", [], OPEN),
    ("GET", "api-docs", [], OPEN),
    ("GET", "api-me", [], MEMBERS),
    # suites
    ("GET", "api-suites", [], OPEN),
    ("POST", "api-suites", [], SENDERS),
    ("GET", "api-suite", ["private"], HIDDEN),
    ("GET", "api-suite", ["unlisted"], OPEN),
    ("PATCH", "api-suite", ["private"], (401, 404, 403, 200, 200, 200)),
    ("PATCH", "api-suite", ["public"], (401, 403, 403, 403, 200, 200)),
    ("DELETE", "api-suite", ["private"], (401, 404, 403, 403, 400, 400)),
    ("GET", "api-people", ["private"], (401, 404, 200, 200, 200, 200)),
    ("GET", "api-people", ["public"], (401, 403, 403, 403, 200, 200)),
    ("POST", "api-people", ["private"], (401, 404, 403, 403, 400, 400)),
    ("PATCH", "api-person", ["private", "bob"], (401, 404, 403, 403, 400, 400)),
    ("DELETE", "api-person", ["private", "charlie"], (401, 404, 403, 403, 404, 404)),
    ("GET", "api-draft", ["api-work"], (401, 404, 403, 200, 200, 200)),
    ("GET", "api-draft", ["public"], (401, 403, 403, 403, 404, 404)),
    ("POST", "api-draft", ["api-work"], (401, 404, 403, 201, 201, 201)),
    ("PUT", "api-draft", ["api-work"], (401, 404, 403, 400, 400, 400)),
    ("GET", "api-draft-cells", ["api-work"], (401, 404, 403, 200, 200, 200)),
    ("PATCH", "api-draft-cells", ["api-work"], (401, 404, 403, 400, 400, 400)),
    ("GET", "api-lint", ["private"], HIDDEN),
    ("POST", "api-lint", ["private"], (401, 404, 403, 400, 400, 400)),
    ("GET", "api-diff", ["private", 1, 1], HIDDEN),
    ("GET", "api-revision", ["private", 1], HIDDEN),
    ("GET", "api-export", ["private", 1, "csv"], HIDDEN),
    ("GET", "api-export", ["public", 1, "exe"], NOT_FOUND),
    ("GET", "api-export", ["private", 1, "lm-eval"], HIDDEN),
    ("GET", "api-export", ["private", 1, "inspect-ai"], HIDDEN),
    ("GET", "api-export", ["public", 1, "bib"], OPEN),
    ("GET", "api-revision", ["api-drafted", 2], ALICES),  # a draft in addition to a frozen revision
    ("GET", "api-export", ["api-drafted", 2, "json"], ALICES),
    ("GET", "api-diff", ["api-drafted", 1, 2], ALICES),
    ("GET", "suite-revision", ["api-drafted", 2], ALICES),
    ("GET", "suite-items", ["api-drafted", 2], ALICES),
    ("GET", "suite-download", ["api-drafted", 2, "csv"], ALICES),
    ("GET", "suite-diff", ["api-drafted", 2, 1], ALICES),
    ("GET", "api-revision", ["api-drafted", 1], OPEN),
    ("POST", "api-preview", ["api-work"], (401, 404, 403, 400, 400, 400)),
    ("POST", "api-preview", ["public"], (401, 403, 403, 403, 400, 400)),
    ("POST", "api-formula-explain", [], SENDERS),
    ("POST", "api-design-explain", [], SENDERS),
    # models
    ("GET", "api-models", [], OPEN),
    ("POST", "api-models", [], SENDERS),
    ("GET", "api-model", ["private-model"], ALICES),
    ("PATCH", "api-model", ["private-model"], OWNERS),
    ("PATCH", "api-model", ["public-model"], (401, 403, 403, 403, 200, 200)),
    ("POST", "api-model-check", ["private-model"], (401, 404, 404, 404, 202, 202)),
    ("POST", "api-model-check", ["api-waiting"], (401, 404, 404, 404, 403, 202)),
    ("POST", "api-model-approve", ["api-waiting"], (401, 404, 404, 404, 403, 202)),
    ("GET", "api-backends", [], OPEN),
    ("GET", "api-backend", ["uniform"], OPEN),
    # runs and results
    ("GET", "api-runs", [], OPEN),
    ("POST", "api-runs", [], SENDERS),
    ("POST", "api-run-batch", [], SENDERS),
    ("POST", "api-run-many", [], SENDERS),
    ("GET", "api-run", ["private-run"], HIDDEN),
    ("GET", "api-run", ["secret-run"], ALICES),
    ("GET", "api-run-results", ["private-run"], HIDDEN),
    ("GET", "api-run-results", ["api-run"], (404, 404, 409, 409, 409, 409)),  # not finished
    ("GET", "api-run-predictions", ["private-run"], HIDDEN),
    ("GET", "api-run-items", ["private-run"], HIDDEN),
    ("GET", "api-run-regions", ["private-run"], HIDDEN),
    ("GET", "api-run-tokens", ["private-run"], HIDDEN),
    ("GET", "api-leaderboard", [], OPEN),
    ("GET", "api-uploads", [], MEMBERS),
    ("POST", "api-uploads", [], SENDERS),
    ("POST", "api-upload-plan", [], SENDERS),
    ("GET", "api-upload", ["upload"], OWNERS),
    ("POST", "api-scores", [], SENDERS),
    ("GET", "api-score", ["api-score"], (401, 404, 404, 404, 202, 202)),
    # jobs
    ("POST", "api-run-cancel", ["api-run"], (401, 404, 403, 403, 200, 200)),
    ("POST", "api-run-retry", ["api-run"], (401, 404, 403, 403, 200, 200)),
]
LAST: list[Row] = [
    ("POST", "api-freeze", ["api-doomed"], (401, 404, 403, 201, 201, 201)),
    ("DELETE", "api-draft", ["api-work"], (401, 404, 403, 204, 204, 204)),
    ("DELETE", "api-suite", ["api-doomed"], (401, 404, 403, 403, 204, 204)),
    ("DELETE", "api-run", ["api-run-doomed"], (401, 404, 403, 403, 204, 204)),
    ("DELETE", "api-person", ["api-work", "dora"], (401, 404, 204, 403, 204, 204)),
    ("DELETE", "api-upload", ["upload"], (401, 404, 404, 404, 204, 204)),
]
