"""What is left of a deleted run: its address answers 410 and says what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import QuerySet

from gym.runs.models import DeletedRun, SuiteRun
from gym.runs.signals import runs_deleting
from gym.sharing.models import Visibility
from models_registry.models import RegisteredModel
from models_registry.selectors import visible_to as visible_models
from suites.models import Suite
from suites.selectors import visible_to as visible_suites

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User


def public(runs: QuerySet[SuiteRun]) -> QuerySet[SuiteRun]:
    """Finished runs of public models on public suites: what everybody sees and may have cited."""
    return runs.filter(
        completed_at__isnull=False,
        revision__suite__visibility=Visibility.PUBLIC,
        model__visibility=Visibility.PUBLIC,
    ).select_related("revision__suite", "model")


def require_not_in_use(runs: QuerySet[SuiteRun]) -> None:
    """Raises InUse when something that stays shows one of these runs."""
    runs_deleting.send(sender=SuiteRun, runs=runs)


def delete_runs(runs: QuerySet[SuiteRun]) -> None:
    """Delete runs with their results. Public ones leave a DeletedRun each: others may have cited their addresses. Of
    any other run nothing is kept. Raises InUse, and then deletes none of them."""
    with transaction.atomic():
        require_not_in_use(runs)
        DeletedRun.objects.bulk_create(
            [
                DeletedRun(
                    key=key,
                    suite=run.revision.suite.slug,
                    revision=run.revision.number,
                    sha256=run.revision.sha256,
                    model=run.model.slug,
                    model_name=run.model.name,
                )
                for run in public(runs).prefetch_related("former_keys")
                for key in (run.key, *(former.key for former in run.former_keys.all()))
            ]
        )
        runs.delete()


def deleted_run_at(user: User | AnonymousUser, key: str) -> DeletedRun | None:
    """What a run was that is deleted; None if there was none, or if its suite or model has become private since."""
    deleted = DeletedRun.objects.filter(key=key).first()
    if deleted is None:
        return None
    for kind, slug, visible in (
        (Suite, deleted.suite, visible_suites(user)),
        (RegisteredModel, deleted.model, visible_models(user)),
    ):
        if kind._default_manager.filter(slug=slug).exists() and not visible.filter(slug=slug).exists():
            return None
    return deleted
