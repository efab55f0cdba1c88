"""Commands that the benchmark sends to the site's console, as JSON lines. Runs in the site's environment,
like tests.process.ask.
"""

from __future__ import annotations

import json
import sys
from itertools import islice
from typing import Any

import django
from django.apps import apps
from django.conf import settings

if not apps.ready:
    django.setup()

from django.db import connection
from django.db.models import Count
from django.test import Client
from django.urls import reverse

from benchmarks.web.world import World, fill
from gym.accounts.models import User
from gym.accounts.tokens import create_token
from gym.demo.loader import demo_revisions, demo_user, load_demo
from gym.runs.models import ScoreCache, SuiteRun
from gym.runs.work.services import queue_run
from models_registry.actors import inspect
from models_registry.models import RegisteredModel
from tests.factories import make_suite

MODELS = ["demo-gpt2", "demo-ngram", "demo-uniform"]
DIFFERENT = 50
"""Number of different suites and runs that readers open."""
ITEMS_OF_A_DRAFT = 100


def prepare(suites: int, models: int, items: int, n_authors: int) -> dict[str, Any]:
    """Create the large site, the authors, and the demo, whose models the workers run. Returns the clients' plan."""
    world = fill(suites, models, items)
    list(load_demo(queue_runs=False))
    for model in RegisteredModel.objects.filter(slug__in=MODELS):
        RegisteredModel.objects.filter(pk=model.pk).update(**inspect(model))
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")  # autovacuum would do so a minute later
    lesson = [(revision.suite.slug, slug) for revision in demo_revisions() for slug in MODELS]
    return {
        "pages": pages(world, items),
        "authors": authors(n_authors),
        "lesson": lesson,
        "outcomes": world.outcomes,
    }


def pages(world: World, items: int) -> dict[str, list[str]]:
    """Return addresses by kind of page."""
    runs = SuiteRun.objects.filter(owner=world.owner, revision__suite__slug__startswith="suite_")
    step = max(1, runs.count() // DIFFERENT)
    chosen = list(islice(runs.order_by("pk").values_list("key", "revision__suite__slug")[::step], DIFFERENT))
    lists = range(1, -(-world.suites // 50) + 1)
    return {
        "home": [reverse("home")],
        "list of suites": [f"{reverse('suite-list')}?page={number}" for number in lists],
        "suite": [reverse("suite-detail", args=[slug]) for _, slug in chosen],
        "run": [reverse("run-detail", args=[key]) for key, _ in chosen],
        "item": [reverse("run-item", args=[world.run, str(number + 1)]) for number in range(items)],
        "leaderboard": [reverse("leaderboard")],
        "list of models": [reverse("model-list")],
    }


def ten_pages() -> dict[str, list[str]]:
    """Return an address for each of ten kinds of pages that visitors open."""
    run = SuiteRun.objects.filter(revision__suite__slug="suite_0000", completed_at__isnull=False).first()
    assert run is not None
    return {
        "home": [reverse("home")],
        "list of suites": [reverse("suite-list")],
        "suite": [reverse("suite-detail", args=["suite_0000"])],
        "list of models": [reverse("model-list")],
        "model": [reverse("model-detail", args=[run.model.slug])],
        "list of runs": [reverse("run-list")],
        "run": [reverse("run-detail", args=[run.key])],
        "leaderboard": [reverse("leaderboard")],
        "comparison": [f"{reverse('compare')}?model=model-000&model=model-001"],
        "suites in the API": [reverse("api-suites")],
    }


def authors(number: int) -> list[dict[str, str]]:
    """Create authors, two per draft."""
    people = [User.objects.create_user(f"author{k}", password=f"author{k}") for k in range(number)]
    accounts = []
    for first, second in zip(people[::2], [*people[1::2], None][: -(-number // 2)], strict=True):
        suite = make_suite(
            first, name=f"draft_of_{first}", frozen=False, collaborator=second, items=ITEMS_OF_A_DRAFT
        )
        for person in filter(None, (first, second)):
            _, token = create_token(actor=person, name="load", scopes=["read", "write", "run"])
            accounts.append(
                {
                    "token": token,
                    "cookie": session(person),
                    "cells": reverse("api-draft-cells", args=[suite.slug]),
                }
            )
    return accounts


def session(person: User) -> str:
    """Sign in. Returns the cookie as a header's value."""
    browser = Client()
    browser.force_login(person)
    return f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"


def queue(number: int) -> list[int]:
    """Queue runs of all demo suites on the demo's models in turn."""
    pairs = [(revision, slug) for revision in demo_revisions() for slug in MODELS]
    models = {model.slug: model for model in RegisteredModel.objects.filter(slug__in=MODELS)}
    chosen = [pairs[k % len(pairs)] for k in range(number)]
    return [queue_run(revision, models[slug], actor=demo_user()).pk for revision, slug in chosen]


def states(first: int) -> dict[str, int]:
    """Count the runs from primary key `first` on, by state."""
    rows = SuiteRun.objects.filter(pk__gte=first, job__isnull=False).order_by()
    return dict(rows.values_list("job__state").annotate(n=Count("pk")))


def forget_scores() -> None:
    """Clear the stored scores, so that the next run computes them again."""
    ScoreCache.objects.all().delete()


if __name__ == "__main__":
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(globals()[name](*arguments)), flush=True)
