"""Rights are asked when work is queued, and once more here when a worker begins it: days may lie between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib.auth import get_user_model

from gym.accounts.models import User
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.models import Job

ASKED_BY = "asked_by"
"""Key of the payload: who put the job back into the queue. Without it, its owner asked for it."""


def note_asker(job: Job, person: User | None) -> None:
    """From now on the job is done by this person's rights. Work of the site's own stays that."""
    pk = getattr(person, "pk", None)
    rows = Job.objects.filter(pk=job.pk, owner__isnull=False)
    if pk is not None and (found := rows.first()) is not None:
        rows.update(payload={**found.payload, ASKED_BY: pk})


def require(context: JobContext, uses: Mapping[str, Callable[[Any], bool]]) -> None:
    """End the job, and say why, when the account that asked for it is closed or may no longer use something. `uses`:
    what the work uses, in words, and whether a person may use it. Work that nobody asked for is the site's own.

    The words say nothing about who it was: a run is seen by people who may not know whose it is."""
    if context.owner_id is None:
        return
    asked_by = context.payload.get(ASKED_BY, context.owner_id)
    person = get_user_model().objects.filter(pk=asked_by, is_active=True).first()
    if person is None:
        raise PermanentFailure(
            "Refused: the account that asked for this is closed. What was done before is kept."
        )
    lost = [thing for thing, may_use in uses.items() if not may_use(person)]
    if lost:
        things = " and ".join(lost)
        raise PermanentFailure(
            f"Refused: whoever asked for this may no longer use {things}. What was done before is kept."
        )
