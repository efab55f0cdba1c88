"""What the rest of the site calls: queue work, stop it, try it again, wait for it."""

from __future__ import annotations

import threading
import time
import uuid
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from gym.accounts.errors import TooManyJobs
from gym.accounts.models import User
from gym.jobs import conf, states, text
from gym.jobs.broker import wake
from gym.jobs.errors import UnknownQueue, WrongState
from gym.jobs.models import ACTIVE_STATES, FINAL_STATES, Batch, Job, State
from gym.jobs.registry import get_handler
from gym.jobs.rights import note_asker

TOGETHER = timedelta(minutes=1)
MOST_WAIT = 2
WAIT_SECONDS = 3.0
LOOK_SECONDS = 0.03
_places = threading.BoundedSemaphore(MOST_WAIT)


def enqueue(
    kind: str,
    payload: dict[str, Any],
    *,
    owner: User | None = None,
    queue: str = "default",
    title: str = "",
    total: int = 0,
    max_attempts: int | None = None,
    batch: Batch | None = None,
) -> Job:
    """Queue a job and wake a worker. Call it inside the transaction that creates the domain rows.

    Rolled back, it leaves nothing behind. Raises TooManyJobs (a soft limit: requests that arrive at the very
    same moment may exceed it by a few), UnknownKind and UnknownQueue.
    """
    get_handler(kind)
    if queue not in conf.queues():
        raise UnknownQueue(f"There is no queue {queue!r}; GYM_JOB_QUEUES has {', '.join(conf.queues())}.")
    with transaction.atomic():
        check_limit(owner)
        job = Job.objects.create(
            kind=kind,
            payload=payload,
            owner=owner,
            batch=batch,
            queue=queue,
            title=text.clean(title, 200),
            total=total,
            max_attempts=max_attempts or conf.get("GYM_JOB_MAX_ATTEMPTS"),
        )
        wake(queue)
    return job


def batch_of(owner: User) -> Batch:
    """What this person queued within the last minute, else a new one. Call it in the transaction that queues."""
    now = timezone.now()
    mine = Batch.objects.select_for_update().filter(owner=owner, joined__gt=now - TOGETHER)
    batch = mine.order_by("-joined").first() or Batch(owner=owner)
    batch.joined = now
    batch.save()
    return batch


def check_limit(owner: User | None) -> None:
    """Raise TooManyJobs if this user may not queue one more job, or the whole site has too many. Work without an owner
    has no limit."""
    if owner is None:
        return
    if (most := conf.get("GYM_MAX_WAITING_JOBS")) and Job.objects.filter(state=State.QUEUED).count() >= most:
        raise TooManyJobs(f"{most:,} jobs wait on this site, and no more are taken. Try again later.")
    if not (limit := active_limit(owner)):
        return
    active = Job.objects.filter(owner=owner, state__in=ACTIVE_STATES).count()
    if active >= limit:
        raise TooManyJobs(
            f"You have {active} jobs queued or running, and {limit} is the limit. "
            "Wait for some to finish or cancel some."
        )


def request_cancel(job: Job, *, actor: User | None) -> Job:
    """Cancel a queued job at once, or ask a running one to stop. A job that has ended raises WrongState.

    Whether `actor` may do this is the caller's question; here the name goes into the log.
    """
    with transaction.atomic():
        state = states.cancel(job.pk)
        if state not in (State.CANCELLED, State.RUNNING):
            raise WrongState(f"This job is {state}; only a queued or running job can be cancelled.")
        states.append_log(Job.objects.filter(pk=job.pk), f"Cancellation asked for by {_name(actor)}.")
    job.refresh_from_db()
    return job


def stop(job: Job | None, *, actor: User | None) -> None:
    """As `request_cancel`, for work whose results are not wanted any more: nothing to do where it has ended."""
    if job is not None and job.is_active:
        with suppress(WrongState):  # it ended meanwhile
            request_cancel(job, actor=actor)


def active_limit(owner: User) -> int:
    """Jobs this user may have queued or running; 0 = no limit. A user's own `max_active_jobs` wins."""
    own = getattr(owner, "max_active_jobs", None)
    return int(conf.get("GYM_MAX_ACTIVE_JOBS_PER_USER") if own is None else own)


def retry(job: Job, *, actor: User | None, batch: Batch | None = None) -> Job:
    """Put a failed or cancelled job back into the queue, with fresh tries. It is done by the rights of `actor` then."""
    with transaction.atomic():
        check_limit(job.owner)
        if not states.requeue(job.pk):
            job.refresh_from_db()
            raise WrongState(f"This job is {job.state}; only a failed or cancelled job can be tried again.")
        if batch is not None:
            Job.objects.filter(pk=job.pk).update(batch=batch)
        note_asker(job, actor)
        states.append_log(Job.objects.filter(pk=job.pk), f"Put back into the queue by {_name(actor)}.")
        wake(job.queue)
    job.refresh_from_db()
    return job


def wait_for_job(job_id: uuid.UUID | None, seconds: float = WAIT_SECONDS) -> None:
    """For a request that waits a moment for the job it queued: most are done before their answer could be read. Returns
    when the job has ended, when the time is up, or at once where enough others wait: it holds a thread of the web
    server, so at most MOST_WAIT wait at a time in a process."""
    if job_id is None or not _places.acquire(blocking=False):
        return
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            state = Job.objects.filter(pk=job_id).values_list("state", flat=True).first()
            if state is None or state in FINAL_STATES:
                return
            time.sleep(LOOK_SECONDS)
    finally:
        _places.release()


def _name(actor: User | None) -> str:
    return "the system" if actor is None else str(actor)
