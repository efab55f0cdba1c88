"""Fair scheduling: round-robin over users, oldest job first within a user.

The order is decided when a worker claims a job. Next is the user whose last job started longest ago (within a
day); jobs without an owner count as one more user. Jobs of `only_when_idle` kinds are claimed only when
nothing else waits.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from time import monotonic
from uuid import UUID

from django.db.models import Count, Max, Min, Q, QuerySet
from django.utils import timezone

from gym.jobs import conf
from gym.jobs.kinds import kinds_when_idle
from gym.jobs.models import Job, State

MEMORY = timedelta(days=1)
_missing_until: dict[str, float] = {}


def note_missing(what: str) -> None:
    """Stop claiming jobs that need `what` for GYM_JOB_LOOK_AGAIN_SECONDS."""
    _missing_until[what] = monotonic() + float(conf.get("GYM_JOB_LOOK_AGAIN_SECONDS"))


def missing_resources() -> list[str]:
    """Return the resources that this worker is known to lack."""
    return [what for what, until in list(_missing_until.items()) if until > monotonic()]


def ready(queue: str) -> QuerySet[Job]:
    """Return the jobs that some worker could claim now."""
    return Job.objects.filter(queue=queue, state=State.QUEUED, not_before__lte=timezone.now())


def claimable(queue: str) -> QuerySet[Job]:
    """Return `ready(queue)` without the jobs that need a resource this worker lacks."""
    return ready(queue).exclude(waits_for__in=missing_resources())


def pressing(jobs: QuerySet[Job]) -> QuerySet[Job]:
    """Exclude jobs that are claimed only when nothing else waits."""
    return jobs.exclude(kind__in=kinds_when_idle())


def turns(queue: str, *, waiting: QuerySet[Job] | None = None) -> list[tuple[int | None, int]]:
    """Return (owner id, number of waiting jobs) in the order of turns."""
    jobs = claimable(queue) if waiting is None else waiting
    owners = list(jobs.order_by().values("owner_id").annotate(oldest=Min("created"), n=Count("id")))
    if len(owners) > 1:
        served = _last_served(queue, [row["owner_id"] for row in owners])
        never = timezone.now() - MEMORY
        owners.sort(key=lambda row: (served.get(row["owner_id"], never), row["oldest"]))
    return [(row["owner_id"], row["n"]) for row in owners]


def _last_served(queue: str, owner_ids: list[int | None]) -> dict[int | None, datetime]:
    owned = Q(owner_id__in=[pk for pk in owner_ids if pk is not None])
    if None in owner_ids:
        owned |= Q(owner_id__isnull=True)
    recent = pressing(Job.objects.filter(owned, queue=queue, started__gt=timezone.now() - MEMORY))
    return dict(recent.order_by().values_list("owner_id").annotate(Max("started")))


def next_job_id(queue: str) -> UUID | None:
    """Return the id of the job to claim next, or None."""
    waiting = pressing(claimable(queue))
    order = turns(queue, waiting=waiting)
    if order:
        waiting = waiting.filter(owner_id=order[0][0])
    else:
        waiting = claimable(queue)
    return waiting.order_by("created", "id").values_list("id", flat=True).first()


def position(job: Job) -> int | None:
    """Return the job's position (1 = next), assuming no more jobs are queued; None if it is not queued."""
    if job.state != State.QUEUED:
        return None
    waiting = pressing(Job.objects.filter(queue=job.queue, state=State.QUEUED))
    earlier = Q(created__lt=job.created) | Q(created=job.created, id__lt=job.id)
    own_before = waiting.filter(earlier, owner_id=job.owner_id).count()
    ahead, owner_passed = 0, False
    for owner_id, count in turns(job.queue, waiting=waiting):
        if owner_id == job.owner_id:
            owner_passed = True
        else:
            ahead += min(count, own_before if owner_passed else own_before + 1)
    return own_before + ahead + 1
