"""A site with many suites, models, runs and outcomes, created by bulk inserts. A test uses a small one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from benchmarks.web.objects import Address, address_of, create_objects

ITEMS_PER_CONDITION = 2
ROWS = 2_000


@dataclass(frozen=True)
class World:
    """Objects that pages refer to. `addresses()` has every list and detail page."""

    owner: Any
    suites: int
    models: int
    outcomes: int
    slug: str
    model: str
    run: str
    others: dict[str, Address] = field(default_factory=dict)  # created by benchmarks.web.objects

    def addresses(self) -> dict[str, str]:
        """Return the addresses of all list and detail pages, and of the API, by label. A label begins with
        the route's name.
        """
        revision, run = [self.slug, 1], [self.run]
        named: dict[str, list[Any]] = {
            "home": [],
            "leaderboard": [],
            "compare": [],
            "queue": [],
            "profile": [],
            "notifications": [],
            "token-list": [],
            "suite-list": [],
            "suite-detail": [self.slug],
            "suite-revision": revision,
            "suite-items": revision,
            "suite-people": [self.slug],
            "model-list": [],
            "model-detail": [self.model],
            "run-list": [],
            "runs-change": ["delete"],
            "run-start": revision,
            "run-detail": run,
            "run-item": [self.run, "1"],
            "run-chart": run,
            "api-suites": [],
            "api-suite": [self.slug],
            "api-revision": revision,
            "api-models": [],
            "api-model": [self.model],
            "api-runs": [],
            "api-run": run,
            "api-run-results": run,
            "api-run-predictions": run,
            "api-run-items": run,
            "api-run-regions": run,
            "api-run-tokens": run,
            "api-uploads": [],
            "api-leaderboard": [],
            "api-me": [],
        }
        routes = {name: (name, arguments, {}) for name, arguments in named.items()} | self.others
        return {label: address_of(*route) for label, route in routes.items()}


def fill(n_suites: int, n_models: int, items: int) -> World:
    """Create n_suites x n_models runs with `items` outcomes each. One suite is computed in full, with all its tokens;
    the others are copies of its rows. Every model has run on every suite.
    """
    from gym.accounts.models import User
    from gym.jobs.testing import run_pending
    from gym.runs.models import PredictionResult, RunScore, SuiteRun
    from gym.runs.work.services import queue_run
    from tests.factories import make_model, make_revision

    owner = User.objects.create_user("author", password="author")
    models = [make_model(owner, slug=f"model-{number:03}") for number in range(n_models)]
    first = make_revision(owner, name="suite_0000", items=items)
    done = queue_run(first, models[0], actor=owner)
    run_pending()
    done.refresh_from_db()
    assert done.completed_at is not None
    result, scores = done.prediction_results.get(), list(done.scores.all())
    revisions = [first, *copies_of_suite(first, n_suites - 1)]
    predictions = {row.revision_id: row for revision in revisions for row in revision.predictions.all()[:1]}
    pairs = [(revision, model) for revision in revisions for model in models][1:]
    for start in range(0, len(pairs), ROWS):
        runs = SuiteRun.objects.bulk_create(
            SuiteRun(
                revision=revision, model=model, owner=owner, policy=done.policy, completed_at=timezone.now(),
                standing=done.standing,
                n_sentences=done.n_sentences, n_unique=done.n_unique, provenance=done.provenance,
                region_summary=done.region_summary,
            )
            for revision, model in pairs[start : start + ROWS]
        )  # fmt: skip
        kept = ("id", "run_id", "prediction_id")
        values = {f.attname: getattr(result, f.attname) for f in result._meta.fields if f.attname not in kept}
        PredictionResult.objects.bulk_create(
            [PredictionResult(run=run, prediction=predictions[run.revision_id], **values) for run in runs],
            batch_size=500,
        )
        RunScore.objects.bulk_create(
            [RunScore(run=run, **_values(score, "run_id")) for run in runs for score in scores],
            batch_size=500,
        )
    outcomes = sum(map(len, PredictionResult.objects.values_list("outcomes", flat=True).iterator()))
    others = create_objects(owner, first, models)
    return World(owner, n_suites, n_models, outcomes, "suite_0000", models[0].slug, done.key, others)


def _values(row: Any, *without: str) -> dict[str, Any]:
    return {
        field.attname: getattr(row, field.attname)
        for field in row._meta.fields
        if field.attname not in ("id", *without)
    }


def copies_of_suite(first: Any, number: int) -> list[Any]:
    """Create further suites with the same sentences."""
    from suites.models import Prediction, Sentence, Suite, SuiteRevision, Tag

    tags = Tag.objects.bulk_create(Tag(name=f"circuit-{k}") for k in range(6))
    suites = Suite.objects.bulk_create(
        Suite(slug=f"suite_{k:04}", title=f"Suite {k}", owner=first.suite.owner, visibility="public")
        for k in range(1, number + 1)
    )
    Suite.tags.through.objects.bulk_create(
        Suite.tags.through(suite=suite, tag=tags[k % 6]) for k, suite in enumerate(suites)
    )
    values = _values(first, "suite_id", "name")
    revisions = SuiteRevision.objects.bulk_create(
        [SuiteRevision(suite=suite, name=suite.slug, **values) for suite in suites]
    )
    for kind, rows in ((Sentence, first.sentences.all()), (Prediction, first.predictions.all())):
        parts = [_values(row, "revision_id") for row in rows]
        kind.objects.bulk_create(
            [kind(revision=revision, **part) for revision in revisions for part in parts], batch_size=ROWS
        )
    return list(revisions)
