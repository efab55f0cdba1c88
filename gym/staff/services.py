"""Staff actions, each run as a job: the doctor's checks, tidying up storage, deleting unused weights, and deleting old
jobs and runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError

from gym.accounts.models import User
from gym.jobs.models import ACTIVE_STATES, Job
from gym.jobs.services import enqueue
from gym.staff.actors import CLEAN, DOCTOR, TIDY, WEIGHTS, check_days

TITLES = {
    DOCTOR: "Check this machine",
    TIDY: "Tidy up storage",
    WEIGHTS: "Delete unused weights",
    CLEAN: "Delete old jobs and runs",
}
OLD = ("jobs", "runs")


def require_staff(actor: User) -> None:
    if not (actor.is_authenticated and actor.is_staff):
        raise PermissionDenied("only staff may do this")


def queue_task(kind: str, *, actor: User) -> Job:
    """Queue a DOCTOR, TIDY or WEIGHTS job, or return the one that is active."""
    return _ask(kind, {}, actor)


def queue_clean_up(days: int, what: Sequence[str], *, actor: User) -> Job:
    """Queue the deletion of jobs, runs or both (`what`, see OLD) that ended more than `days` ago, or return the
    deletion that is active; see actors.py for exceptions."""
    chosen = [name for name in OLD if name in what]
    if not chosen or len(chosen) != len(set(what)):
        raise ValidationError(f"Choose what to delete: {' or '.join(OLD)}.")
    return _ask(CLEAN, {"days": check_days(days), "what": chosen}, actor)


def _ask(kind: str, payload: dict[str, Any], actor: User) -> Job:
    require_staff(actor)
    active = Job.objects.filter(kind=kind, state__in=ACTIVE_STATES).first()
    return active or enqueue(kind, payload, owner=actor, title=TITLES[kind])
