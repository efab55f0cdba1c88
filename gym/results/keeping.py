"""Runs that a published collection shows are not deleted: its leaderboard is permanent."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.dispatch import receiver

from gym.evaluations.graves import Kept, public
from gym.evaluations.models import SuiteRun
from gym.evaluations.selectors import newest_done
from gym.evaluations.signals import runs_deleting
from gym.results.models import Collection

NAMED = 3
"""Collections that a refusal names."""


def collections_showing(runs: QuerySet[SuiteRun]) -> QuerySet[Collection]:
    """Published collections whose leaderboard shows one of these runs to everybody: in it is the one that counts of
    each public model on each revision. Any other can go."""
    shown = newest_done(public(runs))
    published = Collection.objects.filter(published_at__isnull=False)
    return published.filter(entries__revision__in=shown.values("revision")).distinct().order_by("title")


@receiver(runs_deleting, dispatch_uid="gym.results.keeping")
def _keep(runs: QuerySet[SuiteRun], **kwargs: Any) -> None:
    titles = list(collections_showing(runs).values_list("title", flat=True))
    if not titles:
        return
    names = ", ".join(f"“{title}”" for title in titles[:NAMED])
    more = f" and {len(titles) - NAMED} more" if len(titles) > NAMED else ""
    many = "s" if len(titles) > 1 else ""
    raise Kept(
        f"The published collection{many} {names}{more} show{'' if many else 's'} these results, and what is published "
        "stays. They can be deleted once another run counts in their place."
    )
