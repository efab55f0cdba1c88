"""The state machine: the only module that changes `Job.state`.

    queued -> running -> done | failed | cancelled        running -> queued (another try, lost worker, returned)
    queued -> cancelled                                   failed | cancelled -> queued (a user's retry)
                                                          failed -> queued (one more try if only workers died)

A claim is one conditional UPDATE. Every later write by the worker filters by the attempt it claimed, so that writes by
a worker that lost its lease match no row.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet, TextField, Value
from django.db.models.functions import Concat, Right
from django.utils import timezone

from gym.jobs import conf, fairness, text
from gym.jobs.broker import wake
from gym.jobs.models import FINAL_STATES, Job, State
from gym.jobs.sessions import wait_briefly
from lmgym.text import count

IDLE = {"claimed_by": "", "lease_until": None}  # columns of every job that is not running


def lease_end(now: datetime) -> datetime:
    return now + timedelta(seconds=conf.lease_seconds())


def claim_next(queue: str, worker_id: str) -> Job | None:
    """Claim the next queued job, or return None. If another worker claims it first, try the next."""
    while (job_id := fairness.next_job_id(queue)) is not None:
        if (job := claim(job_id, worker_id)) is not None:
            return job
    return None


def claim(job_id: UUID, worker_id: str) -> Job | None:
    """Claim one job by a conditional UPDATE. Return None if it is no longer queued."""
    now = timezone.now()
    claimed = Job.objects.filter(pk=job_id, state=State.QUEUED, not_before__lte=now).update(
        state=State.RUNNING,
        attempt=F("attempt") + 1,
        tries=F("tries") + 1,
        claimed_by=worker_id,
        lease_until=lease_end(now),
        heartbeat_at=now,
        started=now,
        rate=0.0,
        progress_at=None,
        waits_for="",
    )
    if not claimed:
        return None
    # `attempt` cannot change while we hold the lease; the filter excludes a lease lost since the UPDATE.
    return Job.objects.filter(pk=job_id, state=State.RUNNING, claimed_by=worker_id).first()


def fenced(job_id: UUID, attempt: int) -> QuerySet[Job]:
    """Return a queryset for the job, empty unless this attempt is live."""
    return Job.objects.filter(pk=job_id, attempt=attempt, state=State.RUNNING)


def renew(job_id: UUID, attempt: int, **changes: Any) -> bool:
    """Extend the lease and write `changes`. Return False if the attempt is no longer live."""
    now = timezone.now()
    return bool(fenced(job_id, attempt).update(heartbeat_at=now, lease_until=lease_end(now), **changes))


def complete(job_id: UUID, attempt: int, **changes: Any) -> bool:
    """Mark the job as done (running -> done). Return False if the attempt is no longer live."""
    return bool(
        fenced(job_id, attempt).update(state=State.DONE, finished=timezone.now(), error="", **changes, **IDLE)
    )


def end_attempt(
    live: QuerySet[Job],
    error: str,
    *,
    permanent: bool = False,
    keep_try: bool = False,
    delay: float = 0.0,
    waits_for: str = "",
) -> str | None:
    """End an attempt without a result: cancelled if requested, queued if a try is left, else failed.

    Args:
        live: queryset that selects the job only while the attempt can be ended (`fenced`, or an expired lease).
        error: reason for users.
        permanent: do not try again.
        keep_try: do not count the attempt as a try, because the job was not at fault. Without this option, it
            counts even if it made progress.
        delay: seconds until the next try.
        waits_for: resource that this worker lacks.

    Returns:
        The new state, or None if the attempt was no longer live.
    """
    with transaction.atomic():
        job = live.select_for_update().first()
        if job is None:
            return None
        now = timezone.now()
        tries = max(0, job.tries - 1) if keep_try else max(1, job.tries)
        changes: dict[str, Any] = {"error": error, "tries": tries, **IDLE}
        if job.cancel_requested:
            changes |= {"state": State.CANCELLED, "finished": now, "error": ""}
        elif keep_try or (not permanent and tries < job.max_attempts):
            changes |= {"state": State.QUEUED, "not_before": now + timedelta(seconds=delay)}
            changes |= {"waits_for": waits_for} if keep_try else {"deaths": 0}
        else:
            changes |= {"state": State.FAILED, "finished": now, "deaths": 0}
        Job.objects.filter(pk=job.pk).update(**changes)
        if changes["state"] == State.QUEUED and not delay:  # a delayed try is found by polling
            wake(job.queue)
    return str(changes["state"])


def lose_attempt(live: QuerySet[Job], how: str) -> str | None:
    """End an attempt whose worker died; `how` describes it. It counts as a try unless it made progress, and the next
    try is delayed as after an error, counted from the last heartbeat, so that other jobs go first.

    Returns the new state, or None if the attempt is not live or the row is locked, for instance by its frozen worker.
    """
    with transaction.atomic():
        job = live.select_for_update(skip_locked=True).first()
        if job is None:
            return None
        deaths = job.deaths + 1 if job.tries else 0
        error = f"The worker died {f'{deaths} times ' if deaths > 1 else ''}while running this job ({how})."
        if 1 < deaths == job.max_attempts:
            minutes = max(1, round(conf.get("GYM_JOB_QUIET_SECONDS") / 60))
            error += (
                f" The job will be tried once more when no worker has died for {count(minutes, 'minute')}."
            )
        now = timezone.now()
        silent = (now - (job.heartbeat_at or now)).total_seconds()
        delay = max(0.0, conf.retry_seconds(job.tries) - silent)
        state = end_attempt(live, error, keep_try=not job.tries, delay=delay)
        Job.objects.filter(pk=job.pk).update(deaths=deaths, lost_at=now)
        return state


def cancel(job_id: UUID) -> str:
    """Cancel a queued job, or ask a running one to stop. Return the state afterwards."""
    with transaction.atomic():
        wait_briefly()
        job = Job.objects.select_for_update().get(pk=job_id)
        if job.state == State.QUEUED:
            Job.objects.filter(pk=job_id).update(
                state=State.CANCELLED, cancel_requested=True, finished=timezone.now(), **IDLE
            )
            return State.CANCELLED
        if job.state == State.RUNNING:
            Job.objects.filter(pk=job_id).update(cancel_requested=True)
        return job.state


def requeue(job_id: UUID) -> bool:
    """Queue a failed or cancelled job again with its full number of tries. `attempt` is kept, because it is the fencing
    token."""
    ended = Job.objects.filter(pk=job_id, state__in=set(FINAL_STATES) - {State.DONE})
    return _back_to_queue(ended, tries=0, deaths=0, cancel_requested=False, error="")


def failed_by_deaths() -> QuerySet[Job]:
    """Return failed jobs whose tries all ended with a worker's death and that have not had an extra try."""
    lost = Job.objects.filter(state=State.FAILED, lost_at__isnull=False)
    return lost.filter(max_attempts__gt=1, deaths=F("max_attempts"))


def retry_failed_by_deaths(job_id: UUID) -> bool:
    """Queue a job of `failed_by_deaths` again for one last try."""
    return _back_to_queue(failed_by_deaths().filter(pk=job_id), tries=F("max_attempts") - 1)


def _back_to_queue(ended: QuerySet[Job], **changes: Any) -> bool:
    return bool(
        ended.update(
            state=State.QUEUED,
            not_before=timezone.now(),
            finished=None,
            done=0,
            rate=0.0,
            progress_at=None,
            **changes,
        )
    )


def append_log(jobs: QuerySet[Job], entry: str) -> bool:
    """Append a time-stamped entry to the selected jobs' logs, dropping the oldest text beyond MAX_LOG. Return
    False if no job is selected."""
    stamp = f"{timezone.now():%Y-%m-%d %H:%M:%S}Z "
    line = stamp + text.clean(entry, text.MAX_ENTRY, keep="end") + "\n"
    longer = Concat(F("log"), Value(line), output_field=TextField())
    return bool(jobs.update(log=Right(longer, text.MAX_LOG)))
