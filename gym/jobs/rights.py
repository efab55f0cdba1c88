"""Check rights again when a worker starts a job: days can pass after it was queued."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib.auth import get_user_model

from gym.accounts.models import User
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.models import Job

REQUESTER_KEY = "asked_by"
"""Payload key for the id of the user who retried the job. Without it, the owner requested the job."""


def note_requester(job: Job, person: User | None) -> None:
    """Make the job run with this user's rights from now on. Does nothing for jobs without an owner."""
    pk = getattr(person, "pk", None)
    rows = Job.objects.filter(pk=job.pk, owner__isnull=False)
    if pk is not None and (row := rows.first()) is not None:
        rows.update(payload={**row.payload, REQUESTER_KEY: pk})


def require(context: JobContext, uses: Mapping[str, Callable[[Any], bool]]) -> None:
    """Raise PermanentFailure if the account that requested the job is closed or has lost a right.

    `uses` maps the name of each object that the job uses to a function that returns True if a user may use
    it. Jobs without an owner are not checked. The message does not name the user, because not everyone who
    sees a run may know its owner.
    """
    if context.owner_id is None:
        return
    asked_by = context.payload.get(REQUESTER_KEY, context.owner_id)
    person = get_user_model().objects.filter(pk=asked_by, is_active=True).first()
    if person is None:
        raise PermanentFailure(
            "Refused: the account that requested this is closed. Earlier results are kept."
        )
    lost = [thing for thing, may_use in uses.items() if not may_use(person)]
    if lost:
        things = " and ".join(lost)
        raise PermanentFailure(
            f"Refused: the user who requested this may no longer use {things}. Earlier results are kept."
        )
