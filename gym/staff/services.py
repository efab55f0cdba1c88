"""What staff may do to everybody's jobs and to the site's storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from django.core.exceptions import PermissionDenied

from gym.jobs.errors import TooManyJobs, WrongState
from gym.jobs.models import ACTIVE_STATES, Job
from gym.jobs.services import enqueue, request_cancel, retry
from gym.staff.actors import DOCTOR, TIDY

if TYPE_CHECKING:
    from gym.accounts.models import User

TITLES = {DOCTOR: "Look for what is missing", TIDY: "Tidy up the storage"}
ACTS = {"cancel": request_cancel, "requeue": retry}


def require_staff(actor: User) -> None:
    if not (actor.is_authenticated and actor.is_staff):
        raise PermissionDenied("this is for staff")


def steer_jobs(ids: Sequence[UUID], act: str, *, actor: User) -> tuple[int, list[str]]:
    """Cancel or requeue jobs; how many were, and why the others were not."""
    require_staff(actor)
    done, problems = 0, []
    for job in Job.objects.filter(pk__in=ids).select_related("owner"):
        try:
            ACTS[act](job, actor=actor)
        except (WrongState, TooManyJobs) as error:
            problems.append(f"{job}: {error}")
        else:
            done += 1
    return done, problems


def ask_for(kind: str, *, actor: User) -> Job:
    """Queue a job of staff's (DOCTOR, TIDY), unless one is under way already."""
    require_staff(actor)
    under_way = Job.objects.filter(kind=kind, state__in=ACTIVE_STATES).first()
    return under_way or enqueue(kind, {}, owner=actor, title=TITLES[kind])
