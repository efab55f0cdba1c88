"""Addresses of runs that no longer exist. The address of a deleted public run returns 410 with a description. When a
suite gets a new secret address, the old addresses of its runs work only for users who may know of the suite, because
they would reveal the new one, and the jobs of people without a role in the suite no longer name it."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import receiver

from gym.accounts.models import AnyUser
from gym.jobs import services as jobs
from gym.jobs.models import ACTIVE_STATES, Job
from gym.runs.models import DeletedRun, FormerRunKey, SuiteRun
from gym.runs.signals import runs_deleting
from gym.sharing.addresses import renew_keys, secret_address_given
from gym.sharing.models import Visibility
from models_registry.models import RegisteredModel
from models_registry.selectors import visible_to as visible_models
from suites.models import Suite
from suites.selectors import visible_to as visible_suites

RENEWED = "Run of a suite whose address was renewed"
"""Title of jobs whose owners may no longer know of the suite."""


def public(runs: QuerySet[SuiteRun]) -> QuerySet[SuiteRun]:
    """Return finished runs of public models on public suites, which are visible to everyone and may have been cited."""
    return runs.filter(
        completed_at__isnull=False,
        revision__suite__visibility=Visibility.PUBLIC,
        model__visibility=Visibility.PUBLIC,
    ).select_related("revision__suite", "model")


def require_not_in_use(runs: QuerySet[SuiteRun]) -> None:
    """Raise InUse if one of these runs is shown by an object that is kept, such as a published collection."""
    runs_deleting.send(sender=SuiteRun, runs=runs)


def delete_runs(runs: QuerySet[SuiteRun], note: str = "") -> None:
    """Delete runs with their results; stop runs under way. Each public run leaves a DeletedRun with this
    note, because its address may have been cited. Raises InUse without deleting any."""
    with transaction.atomic():
        require_not_in_use(runs)
        for run in runs.filter(job__state__in=ACTIVE_STATES).select_related("job"):
            jobs.stop(run.job, actor=None)
        DeletedRun.objects.bulk_create(
            [
                DeletedRun(
                    key=key,
                    suite=run.revision.suite.slug,
                    revision=run.revision.number,
                    sha256=run.revision.sha256,
                    model=run.model.slug,
                    model_name=run.model.name,
                    note=note,
                )
                for run in public(runs).prefetch_related("former_keys")
                for key in (run.key, *(former.key for former in run.former_keys.all()))
            ]
        )
        runs.delete()


def deleted_run_at(user: AnyUser, key: str) -> DeletedRun | None:
    """Return the description of a deleted run; None if unknown, or if its suite or model still exists but is
    not visible to this user."""
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


@receiver(secret_address_given, sender=Suite, dispatch_uid="gym.runs.work.deleted_runs")
def _new_keys(obj: Suite, **kwargs: Any) -> None:
    renew_keys(SuiteRun.objects.filter(revision__suite=obj).only("pk", "key"), FormerRunKey)
    other_jobs = Job.objects.filter(suite_run__revision__suite=obj).exclude(owner=obj.owner)
    other_jobs.exclude(owner__in=obj.collaborations.values("user")).update(title=RENEWED, log="")
