"""Protect published collections: their suites stay public, and the runs they show cannot be deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.dispatch import receiver

from gym.collections.models import Collection
from gym.people.models import HumanData
from gym.people.signals import data_leaving
from gym.runs.models import SuiteRun
from gym.runs.read.selectors import newest_done
from gym.runs.signals import runs_deleting
from gym.runs.work.deleted_runs import public
from suites.models import Suite
from suites.signals import InUse, address_leaving

NAMED = 3
"""Maximum number of collections named in an error."""


def collections_showing(runs: QuerySet[SuiteRun]) -> QuerySet[Collection]:
    """Return published collections whose public leaderboard shows one of `runs`, i.e. the run that counts for
    a public model on a revision."""
    shown = newest_done(public(runs))
    published = Collection.objects.filter(published_at__isnull=False)
    return published.filter(entries__revision__in=shown.values("revision")).distinct().order_by("title")


@receiver(runs_deleting, dispatch_uid="gym.collections.deletion_guard")
def _keep(runs: QuerySet[SuiteRun], **kwargs: Any) -> None:
    titles = list(collections_showing(runs).values_list("title", flat=True))
    if not titles:
        return
    raise InUse(
        f"{_named(titles)} show{'' if len(titles) > 1 else 's'} these results, so the results "
        "cannot be deleted until another run replaces them."
    )


@receiver(address_leaving, dispatch_uid="gym.collections.deletion_guard.suites")
def _keep_public(suite: Suite, **kwargs: Any) -> None:
    titles = list(published_with(suite).values_list("title", flat=True))
    if titles:
        raise InUse(
            f"{_named(titles)} contain{'' if len(titles) > 1 else 's'} this suite, so it cannot be made private or "
            "unlisted, moved, or deleted. Publish corrections as a new revision or as errata."
        )


@receiver(data_leaving, dispatch_uid="gym.collections.deletion_guard.human_data")
def _keep_data(data: HumanData, **kwargs: Any) -> None:
    published = Collection.objects.filter(published_at__isnull=False, human_data_entries__human_data=data)
    titles = list(published.order_by("title").values_list("title", flat=True))
    if titles:
        raise InUse(
            f"{_named(titles)} hold{'' if len(titles) > 1 else 's'} these human data, so they cannot be made private "
            "or deleted."
        )


def published_with(suite: Suite) -> QuerySet[Collection]:
    """Return published collections that contain a revision of this suite."""
    published = Collection.objects.filter(published_at__isnull=False)
    return published.filter(entries__revision__suite=suite).distinct().order_by("title")


def _named(titles: Sequence[str]) -> str:
    names = ", ".join(f"“{title}”" for title in titles[:NAMED])
    more = f" and {len(titles) - NAMED} more" if len(titles) > NAMED else ""
    return f"The published collection{'s' if len(titles) > 1 else ''} {names}{more}"
