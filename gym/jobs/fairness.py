"""Whose turn it is: users take turns, and within one user's jobs the oldest goes first.

A message names a queue, not a job, so the order is decided here at the moment of the claim. The user whose last turn
lies longest back (in the last day) is next; jobs without an owner count as one more user. Kinds of jobs that are
registered `only_when_idle` come when nothing else waits.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from time import monotonic
from uuid import UUID

from django.db.models import Count, Max, Min, Q, QuerySet
from django.utils import timezone

from gym.jobs import conf
from gym.jobs.models import Job, State
from gym.jobs.registry import kinds_when_idle

MEMORY = timedelta(days=1)
_lacking_until: dict[str, float] = {}


def note_lacking(what: str) -> None:
    """This worker was found to lack something. It leaves jobs that wait for it to others for a while; then it looks
    again."""
    _lacking_until[what] = monotonic() + float(conf.get("GYM_JOB_LOOK_AGAIN_SECONDS"))


def lacking() -> list[str]:
    """What this worker lacks."""
    return [what for what, until in list(_lacking_until.items()) if until > monotonic()]


def ready(queue: str) -> QuerySet[Job]:
    """The jobs that some worker could claim now."""
    return Job.objects.filter(queue=queue, state=State.QUEUED, not_before__lte=timezone.now())


def claimable(queue: str) -> QuerySet[Job]:
    """Those that this worker could claim: not the ones that wait for what it lacks."""
    return ready(queue).exclude(waits_for__in=lacking())


def pressing(jobs: QuerySet[Job]) -> QuerySet[Job]:
    """Those of these jobs that do not leave others the way."""
    return jobs.exclude(kind__in=kinds_when_idle())


def turns(queue: str, *, waiting: QuerySet[Job] | None = None) -> list[tuple[int | None, int]]:
    """(owner id, number of waiting jobs) in the order in which the owners take their turns."""
    jobs = claimable(queue) if waiting is None else waiting
    owners = list(jobs.order_by().values("owner_id").annotate(oldest=Min("created"), n=Count("id")))
    if len(owners) > 1:
        served = _last_served(queue, [row["owner_id"] for row in owners])
        never = timezone.now() - MEMORY
        owners.sort(key=lambda row: (served.get(row["owner_id"], never), row["oldest"]))
    return [(row["owner_id"], row["n"]) for row in owners]


def _last_served(queue: str, owner_ids: list[int | None]) -> dict[int | None, datetime]:
    whose = Q(owner_id__in=[pk for pk in owner_ids if pk is not None])
    if None in owner_ids:
        whose |= Q(owner_id__isnull=True)
    recent = pressing(Job.objects.filter(whose, queue=queue, started__gt=timezone.now() - MEMORY))
    return dict(recent.order_by().values_list("owner_id").annotate(Max("started")))


def next_job_id(queue: str) -> UUID | None:
    """The job that should be claimed next, or None."""
    waiting = pressing(claimable(queue))
    order = turns(queue, waiting=waiting)
    if order:
        waiting = waiting.filter(owner_id=order[0][0])
    else:
        waiting = claimable(queue)
    return waiting.order_by("created", "id").values_list("id", flat=True).first()


def position(job: Job) -> int | None:
    """1 = next: what would be claimed before this job if nothing else came. None if it is not queued."""
    if job.state != State.QUEUED:
        return None
    waiting = pressing(Job.objects.filter(queue=job.queue, state=State.QUEUED))
    earlier = Q(created__lt=job.created) | Q(created=job.created, id__lt=job.id)
    own_before = waiting.filter(earlier, owner_id=job.owner_id).count()
    ahead, my_turn_comes_first = 0, False
    for owner_id, count in turns(job.queue, waiting=waiting):
        if owner_id == job.owner_id:
            my_turn_comes_first = True
        else:
            ahead += min(count, own_before if my_turn_comes_first else own_before + 1)
    return own_before + ahead + 1
