"""Data of the API tests: alice's suites, models and runs in every visibility."""

from __future__ import annotations

from dataclasses import dataclass

from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from gym.runs.work import services
from models_registry.models import RegisteredModel
from suites.models import SuiteRevision
from tests.factories import make_model, make_revision
from tests.people import People

VISIBILITIES = ("public", "unlisted", "private")


@dataclass(frozen=True)
class World:
    """Suites are named after their visibility; bob is a collaborator of the private one."""

    revisions: dict[str, SuiteRevision]
    open_model: RegisteredModel
    secret_model: RegisteredModel
    runs: dict[str, SuiteRun]


def make_world(people: People) -> World:
    revisions = {
        name: make_revision(
            people.alice,
            name=f"{name}-suite",
            visibility=name,
            collaborator=people.bob if name == "private" else None,
        )
        for name in VISIBILITIES
    }
    open_model = make_model(people.alice, slug="open-model")
    secret_model = make_model(people.alice, slug="secret-model", visibility="private")
    runs = {
        name: services.queue_run(revision, open_model, actor=people.alice)
        for name, revision in revisions.items()
    }
    runs["secret"] = services.queue_run(revisions["public"], secret_model, actor=people.alice)
    run_pending()
    return World(revisions, open_model, secret_model, runs)
