"""What staff may do to everybody's jobs and to the site's storage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied, ValidationError

from gym.accounts.errors import TooManyJobs
from gym.accounts.models import User
from gym.jobs.errors import WrongState
from gym.jobs.models import ACTIVE_STATES, Job
from gym.jobs.services import enqueue, request_cancel, retry
from gym.staff.actors import CLEAN, DOCTOR, TIDY, check_days

TITLES = {
    DOCTOR: "Look for what is missing",
    TIDY: "Tidy up the storage",
    CLEAN: "Delete what is old",
}
OLD = ("jobs", "runs")
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
    return _ask(kind, {}, actor)


def ask_to_clean_up(days: int, what: Sequence[str], *, actor: User) -> Job:
    """Queue the deletion of OLD things that ended more than so many days ago; see actors.py for what stays."""
    chosen = [name for name in OLD if name in what]
    if not chosen or len(chosen) != len(set(what)):
        raise ValidationError(f"Choose what goes: {' or '.join(OLD)}.")
    return _ask(CLEAN, {"days": check_days(days), "what": chosen}, actor)


def _ask(kind: str, payload: dict[str, Any], actor: User) -> Job:
    require_staff(actor)
    under_way = Job.objects.filter(kind=kind, state__in=ACTIVE_STATES).first()
    return under_way or enqueue(kind, payload, owner=actor, title=TITLES[kind])
