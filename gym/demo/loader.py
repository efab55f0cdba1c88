"""Puts the demo into the database: accounts, models, suites, and one job that runs them. Safe to repeat."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import QuerySet

from gym.accounts.models import User
from gym.accounts.published import ACCOUNTS, DEMO_USER, accounts_wanted
from gym.agents.site.demo import load_agents
from gym.demo.answer_set import create_answer_set
from gym.demo.catalogue import DEMO_MODELS, DEMO_SUITES, MODELS_DIR
from gym.demo.game import create_corpus
from gym.jobs.models import ACTIVE_STATES, Job
from gym.jobs.services import enqueue
from gym.sharing.models import Visibility
from models_registry.models import RegisteredModel
from suites import services
from suites.formats import read_suite
from suites.models import Suite, SuiteRevision


def load_demo(*, queue_runs: bool = True) -> Iterator[str]:
    """Create what is missing; yields a line for each thing done."""
    with transaction.atomic():
        if accounts_wanted():
            yield from _create_accounts()
        owner = demo_user()
        yield from _create_models(owner)
        yield from _create_suites(owner)
        yield from create_answer_set(owner)
        yield from create_corpus(owner)
        yield from load_agents(owner, run=queue_runs)
        if queue_runs and not Job.objects.filter(kind="demo_runs", state__in=ACTIVE_STATES).exists():
            enqueue("demo_runs", {}, owner=owner, title="Run the demo models", total=len(DEMO_MODELS))
            yield "the demo runs are queued"


def demo_user() -> User:
    """The account that owns the demo. Nobody can sign in with it."""
    user, created = User.objects.get_or_create(
        username=DEMO_USER, defaults={"first_name": "LM Gym", "last_name": "demo"}
    )
    if created:
        user.set_unusable_password()
        user.save()
    return user


def demo_models() -> QuerySet[RegisteredModel]:
    return RegisteredModel.objects.filter(slug__in=[model.slug for model in DEMO_MODELS], owner=demo_user())


def demo_revisions() -> list[SuiteRevision]:
    suites = Suite.objects.filter(owner=demo_user()).order_by("slug")
    return [revision for suite in suites if (revision := suite.latest_frozen)]


def _create_accounts() -> Iterator[str]:
    users = get_user_model().objects
    for name, (password, staff) in ACCOUNTS.items():
        if not users.filter(username=name).exists():
            users.create_user(name, password=password, is_staff=staff, is_superuser=staff)
            yield f"account {name} (password {password})"


def _create_models(owner: User) -> Iterator[str]:
    for model in DEMO_MODELS:
        source = MODELS_DIR / model.slug
        target = settings.GYM_MODEL_DIR / model.slug
        if source.is_dir() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target)
        if not RegisteredModel.objects.filter(slug=model.slug).exists():
            RegisteredModel.objects.create(
                slug=model.slug,
                name=model.name,
                owner=owner,
                visibility=Visibility.PUBLIC,
                backend=model.backend,
                config=model.config,
                description=model.description,
                licence=model.licence,
                corpus=model.corpus,
                authorship="LM Gym",
                tags=["demo", *model.tags],
            )
            yield f"model {model.slug}"


def _create_suites(owner: User) -> Iterator[str]:
    for suite in DEMO_SUITES:
        document = read_suite(suite.path.read_bytes(), filename=suite.path.name)
        if Suite.objects.filter(slug=services.slug_of(document.name), owner=owner).exists():
            continue
        created = services.import_suite(
            document,
            actor=owner,
            title=suite.title,
            visibility=Visibility.PUBLIC,
            tags=suite.tags,
        )
        created.licence = "CC0-1.0"
        created.save(update_fields=["licence"])
        services.freeze(created, actor=owner, note="as shipped with LM Gym")
        yield f"suite {created.slug}"
