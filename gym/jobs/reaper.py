"""Recovery of jobs whose workers went silent.

Every worker runs a pass at its start and every GYM_REAPER_SECONDS; a lock row admits one worker at a time.
`worker --drain` runs passes without the lock, because concurrent passes are harmless."""

from __future__ import annotations

import logging
import signal
import threading
import time
from datetime import timedelta
from uuid import UUID

from django.db import Error as DatabaseError
from django.db import connection, connections, transaction
from django.db.models import Q
from django.utils import timezone

from gym.jobs import batches, conf, states
from gym.jobs.broker import wake
from gym.jobs.models import Job, Lock, State, WorkerHeartbeat
from gym.jobs.signals import time_passes

log = logging.getLogger(__name__)

LOCK = "reaper"
KEEP_SILENT_WORKERS = timedelta(minutes=10)
SILENT = "no heartbeat: probably killed or out of memory"


def reap() -> int:
    """Run one pass: recover lost jobs, announce batches, send `time_passes`, delete rows of
    silent workers. Return the number of expired attempts."""
    expired = recover_expired()
    batches.announce()
    for receiver, error in time_passes.send_robust(Reaper):
        if isinstance(error, Exception):
            log.error("%s failed", receiver, exc_info=error)
    WorkerHeartbeat.objects.filter(last_seen__lt=timezone.now() - KEEP_SILENT_WORKERS).delete()
    return expired


def recover_expired() -> int:
    """End expired attempts and give one job another try. Return the number of expired attempts."""
    undo_step_back()
    expired = reap_expired()
    give_another_chance()
    return expired


def undo_step_back() -> None:
    """Correct times that are in the future because the clock was set back. Clocks of hosts may differ by one lease."""
    now, lease = timezone.now(), timedelta(seconds=conf.lease_seconds())
    longest_wait = timedelta(seconds=conf.retry_seconds(conf.get("GYM_JOB_MAX_ATTEMPTS")))
    queued = Job.objects.filter(state=State.QUEUED, not_before__gt=now + longest_wait + lease)
    running = Job.objects.filter(state=State.RUNNING, lease_until__gt=now + 2 * lease)
    for jobs, times in ((queued, {"not_before": now}), (running, {"lease_until": now + lease})):
        if jobs.exists():
            log.warning("the clock was set back; number of jobs that get new times: %d", jobs.count())
            with transaction.atomic():
                jobs = jobs.select_for_update(skip_locked=True)
                Job.objects.filter(pk__in=list(jobs.values_list("pk", flat=True))).update(**times)


def reap_expired() -> int:
    """End the attempts of running jobs whose leases have expired. Return their number."""
    expired = Job.objects.filter(state=State.RUNNING, lease_until__lt=timezone.now())
    return sum(
        end_lost_attempt(job_id, attempt, expired_only=True)
        for job_id, attempt in expired.values_list("pk", "attempt")
    )


def release_dead_worker(worker_id: str, exit_code: int | None = None) -> int:
    """Release the jobs and locks of a worker that died, without waiting for its leases to expire. Return the
    number of jobs."""
    how = SILENT if exit_code is None else describe_exit(exit_code)
    jobs = Job.objects.filter(state=State.RUNNING, claimed_by=worker_id).values_list("pk", "attempt")
    released = sum(end_lost_attempt(job_id, attempt, expired_only=False, how=how) for job_id, attempt in jobs)
    Lock.objects.filter(holder=worker_id).delete()
    WorkerHeartbeat.objects.filter(pk=worker_id).delete()
    return released


def describe_exit(code: int) -> str:
    """Describe an exit code from subprocess."""
    if code >= 0:
        return f"exit code {code}"
    return f"killed by signal {-code}" + (": often out of memory" if -code == signal.SIGKILL else "")


def end_lost_attempt(job_id: UUID, attempt: int, *, expired_only: bool, how: str = SILENT) -> bool:
    live = states.fenced(job_id, attempt)
    if expired_only:  # checked again in the transaction, as a heartbeat may have arrived in the meantime
        live = live.filter(lease_until__lt=timezone.now())
    state = states.lose_attempt(live, how)
    if state is not None:
        entry = f"The worker of attempt {attempt} died ({how}); the job is now {state}."
        states.append_log(Job.objects.filter(pk=job_id), entry)
        log.warning("job %s attempt %d was lost with its worker (%s); now %s", job_id, attempt, how, state)
    return state is not None


def give_another_chance() -> bool:
    """Queue the oldest job of `failed_by_deaths` again, if no worker has died recently. Only one per pass, so that a
    job that kills its worker does not affect the others. Return whether it was queued."""
    job = states.failed_by_deaths().order_by("lost_at").first()
    if job is None or not workers_are_quiet():
        return False
    with transaction.atomic():
        if is_queued := states.retry_failed_by_deaths(job.pk):
            states.append_log(Job.objects.filter(pk=job.pk), "No worker has died for a while: one more try.")
            wake(job.queue)
    return is_queued


def workers_are_quiet() -> bool:
    """Return True if no job lost its worker and no worker started recently. A start can also mean that a worker without
    a job died."""
    recent = timezone.now() - timedelta(seconds=conf.get("GYM_JOB_QUIET_SECONDS"))
    lost = Job.objects.filter(lost_at__gt=recent)
    return not lost.exists() and not WorkerHeartbeat.objects.filter(started__gt=recent).exists()


def acquire_lock(holder: str, seconds: float) -> bool:
    """Take or renew the lock for `seconds`. Return False if another worker has it."""
    now = timezone.now()
    until = now + timedelta(seconds=seconds)
    row = Lock.objects.filter(name=LOCK)
    set_back = Q(until__gt=until + timedelta(seconds=conf.lease_seconds()))  # see undo_step_back
    free = Q(holder=holder) | Q(until__lt=now) | set_back
    if row.filter(free).update(holder=holder, until=until):
        return True
    _, created = Lock.objects.get_or_create(name=LOCK, defaults={"holder": holder, "until": until})
    return created


class Reaper(threading.Thread):
    """Thread of every worker process that runs `reap` while it holds the lock."""

    def __init__(self, holder: str) -> None:
        super().__init__(name="reaper", daemon=True)
        self.holder = holder
        self.over = threading.Event()

    def run(self) -> None:
        interval = float(conf.get("GYM_REAPER_SECONDS"))
        clock_gap = time.time() - time.monotonic()
        try:
            while True:
                now_gap = time.time() - time.monotonic()
                asleep, clock_gap = now_gap - clock_gap, now_gap
                if asleep < conf.lease_seconds() / 3:
                    self.sweep(interval)
                    wait = interval
                else:  # the machine was suspended, and so were all heartbeats: let them catch up first
                    log.warning("the clock jumped by %.0f s; not reaping before the next round", asleep)
                    wait = max(interval, conf.lease_seconds() / 2)
                if self.over.wait(wait):
                    return
        finally:
            connections.close_all()

    def sweep(self, interval: float) -> None:
        try:
            if acquire_lock(self.holder, 2 * interval + 1):
                reap()
        except DatabaseError:
            log.exception("the reaper could not reach the database; trying again in %.0f s", interval)
            connection.close()
        except Exception:  # an unreachable message broker must not end this thread
            log.exception("the reaper failed; trying again in %.0f s", interval)

    def stop(self) -> None:
        self.over.set()
