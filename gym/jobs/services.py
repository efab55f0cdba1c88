"""Use cases for the rest of the site: queue a job, cancel it, retry it, wait for it."""

from __future__ import annotations

import threading
import time
import uuid
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from gym.accounts.errors import LimitReached
from gym.accounts.models import User
from gym.jobs import conf, kinds, states, text
from gym.jobs.broker import wake
from gym.jobs.errors import UnknownQueue, WrongState
from gym.jobs.models import ACTIVE_STATES, FINAL_STATES, Batch, Job, State
from gym.jobs.rights import note_requester
from lmgym.text import count

BATCH_WINDOW = timedelta(minutes=1)
MAX_WAITING_REQUESTS = 2
WAIT_SECONDS = 3.0
POLL_SECONDS = 0.03
_waiting_slots = threading.BoundedSemaphore(MAX_WAITING_REQUESTS)


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
    """Queue a job and wake a worker. Call in the transaction that creates the app's own rows.

    Raises LimitReached (a soft limit, which concurrent requests can exceed by a few jobs), UnknownKind and
    UnknownQueue.
    """
    kinds.require(kind)
    if queue not in conf.queues():
        raise UnknownQueue(
            f"There is no queue {queue!r}; GYM_JOB_QUEUES contains {', '.join(conf.queues())}."
        )
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
    """Return the batch of the jobs that this user queued within the last minute, or a new batch. Call in the
    transaction that queues the job."""
    now = timezone.now()
    mine = Batch.objects.select_for_update().filter(owner=owner, joined__gt=now - BATCH_WINDOW)
    batch = mine.order_by("-joined").first() or Batch(owner=owner)
    batch.joined = now
    batch.save()
    return batch


def batch_alone(owner: User) -> Batch:
    """Return a new batch that no later job joins. Call in the transaction that queues its job."""
    return Batch.objects.create(owner=owner, joined=timezone.now() - BATCH_WINDOW)


def check_limit(owner: User | None) -> None:
    """Raise LimitReached if the user or the site has too many jobs. Jobs without an owner are not limited."""
    if owner is None:
        return
    if (most := conf.get("GYM_MAX_WAITING_JOBS")) and Job.objects.filter(state=State.QUEUED).count() >= most:
        raise LimitReached(f"The queue of this site is full ({most:,} jobs). Try again later.")
    if not (limit := active_limit(owner)):
        return
    active = Job.objects.filter(owner=owner, state__in=ACTIVE_STATES).count()
    if active >= limit:
        raise LimitReached(
            f"You have {count(active, 'job')} queued or running; the limit is {limit}. "
            "Wait for one to finish, or cancel one."
        )


def request_cancel(job: Job, *, actor: User | None) -> Job:
    """Cancel a queued job at once, or ask a running one to stop. Raises WrongState if it has ended.

    The caller checks whether `actor` may do this; the log names them.
    """
    with transaction.atomic():
        state = states.cancel(job.pk)
        if state not in (State.CANCELLED, State.RUNNING):
            raise WrongState(f"This job is {state}; only a queued or running job can be cancelled.")
        states.append_log(Job.objects.filter(pk=job.pk), f"Cancelled by {_name(actor)}.")
    job.refresh_from_db()
    return job


def stop(job: Job | None, *, actor: User | None) -> None:
    """Cancel a job whose results are no longer needed. Does nothing if it has ended."""
    if job is not None and job.is_active:
        with suppress(WrongState):  # it has ended in the meantime
            request_cancel(job, actor=actor)


def active_limit(owner: User) -> int:
    """Return a user's limit on queued and running jobs; 0 = no limit. The account's `max_active_jobs` takes
    precedence."""
    account_limit = getattr(owner, "max_active_jobs", None)
    return int(conf.get("GYM_MAX_ACTIVE_JOBS_PER_USER") if account_limit is None else account_limit)


def retry(job: Job, *, actor: User | None, batch: Batch | None = None) -> Job:
    """Queue a failed or cancelled job again, with its full number of tries and the rights of `actor`. Raises WrongState
    and LimitReached."""
    with transaction.atomic():
        check_limit(job.owner)
        if not states.requeue(job.pk):
            job.refresh_from_db()
            raise WrongState(f"This job is {job.state}; only a failed or cancelled job can be retried.")
        if batch is not None:
            Job.objects.filter(pk=job.pk).update(batch=batch)
        note_requester(job, actor)
        states.append_log(Job.objects.filter(pk=job.pk), f"Queued again by {_name(actor)}.")
        wake(job.queue)
    job.refresh_from_db()
    return job


def wait_for_job(job_id: uuid.UUID | None, seconds: float = WAIT_SECONDS) -> None:
    """Wait for a job until it has ended or `seconds` have passed. A waiting request occupies a thread of the web
    server, so at most MAX_WAITING_REQUESTS per process wait; others return at once."""
    if job_id is None or not _waiting_slots.acquire(blocking=False):
        return
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            state = Job.objects.filter(pk=job_id).values_list("state", flat=True).first()
            if state is None or state in FINAL_STATES:
                return
            time.sleep(POLL_SECONDS)
    finally:
        _waiting_slots.release()


def _name(actor: User | None) -> str:
    return "the system" if actor is None else str(actor)
