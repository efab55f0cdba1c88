"""Finds what got lost: jobs whose worker went silent, and messages for queued jobs.

Every worker runs this at boot and then every GYM_REAPER_SECONDS; a lock row lets one of them do it at a time. A worker
that drains the queue does it without the lock: doing it twice at a time does no harm.
"""

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

from gym.jobs import batches, conf, fairness, states
from gym.jobs.broker import needs_messages, ready_messages, wake
from gym.jobs.models import Job, Lock, State, WorkerHeartbeat
from gym.jobs.signals import time_passes

log = logging.getLogger(__name__)

LOCK = "reaper"
MAX_WAKES = 100  # per queue and pass
KEEP_SILENT_WORKERS = timedelta(hours=1)
SILENT = "it stopped answering: often it was killed, or memory ran out"


def reap() -> int:
    """One pass: bring lost jobs back (the number of expired attempts is returned), send missing wake-ups, clear old
    rows."""
    expired = bring_back()
    if needs_messages():
        resend_wakeups()
    batches.announce()
    for receiver, error in time_passes.send_robust(Reaper):
        if isinstance(error, Exception):
            log.error("%s failed", receiver, exc_info=error)
    WorkerHeartbeat.objects.filter(last_seen__lt=timezone.now() - KEEP_SILENT_WORKERS).delete()
    return expired


def bring_back() -> int:
    """End expired attempts; their number is returned. And give one job another chance."""
    undo_step_back()
    expired = reap_expired()
    give_another_chance()
    return expired


def undo_step_back() -> None:
    """Times that lie further ahead than anybody sets them are from before the clock was set back. No job waits until it
    shows them again. Hosts may differ by a lease."""
    now, lease = timezone.now(), timedelta(seconds=conf.lease_seconds())
    longest_wait = timedelta(seconds=conf.retry_seconds(conf.get("GYM_JOB_MAX_ATTEMPTS")))
    queued = Job.objects.filter(state=State.QUEUED, not_before__gt=now + longest_wait + lease)
    running = Job.objects.filter(state=State.RUNNING, lease_until__gt=now + 2 * lease)
    for jobs, times in ((queued, {"not_before": now}), (running, {"lease_until": now + lease})):
        if jobs.exists():
            log.warning("the clock was set back: %d jobs get new times", jobs.count())
            with transaction.atomic():
                jobs = jobs.select_for_update(skip_locked=True)
                Job.objects.filter(pk__in=list(jobs.values_list("pk", flat=True))).update(**times)


def reap_expired() -> int:
    """Every running job whose lease is over goes back to the queue, or fails when its tries are used up."""
    over = Job.objects.filter(state=State.RUNNING, lease_until__lt=timezone.now())
    return sum(
        end_lost_attempt(job_id, attempt, expired_only=True)
        for job_id, attempt in over.values_list("pk", "attempt")
    )


def release_dead_worker(worker_id: str, exit_code: int | None = None) -> int:
    """The supervisor saw this worker die: nobody needs to wait for its leases and its lock to run out."""
    how = SILENT if exit_code is None else describe_exit(exit_code)
    jobs = Job.objects.filter(state=State.RUNNING, claimed_by=worker_id).values_list("pk", "attempt")
    released = sum(end_lost_attempt(job_id, attempt, expired_only=False, how=how) for job_id, attempt in jobs)
    Lock.objects.filter(holder=worker_id).delete()
    WorkerHeartbeat.objects.filter(pk=worker_id).delete()
    return released


def describe_exit(code: int) -> str:
    """How a process ended, in words; `code` as subprocess gives it."""
    if code >= 0:
        return f"it ended with exit code {code}"
    return f"killed by signal {-code}" + (": often memory ran out" if -code == signal.SIGKILL else "")


def end_lost_attempt(job_id: UUID, attempt: int, *, expired_only: bool, how: str = SILENT) -> bool:
    live = states.fenced(job_id, attempt)
    if expired_only:  # asked again inside the transaction: a heartbeat may have come in between
        live = live.filter(lease_until__lt=timezone.now())
    state = states.lose_attempt(live, how)
    if state is not None:
        entry = f"The worker of attempt {attempt} died ({how}); the job is {state} now."
        states.append_log(Job.objects.filter(pk=job_id), entry)
        log.warning("job %s attempt %d was lost with its worker (%s); now %s", job_id, attempt, how, state)
    return state is not None


def give_another_chance() -> bool:
    """Of the jobs that failed only because their workers died, the one that waits longest gets one more try, when no
    worker has died lately. One in each pass, so that one that kills its worker takes no other with it."""
    job = states.failed_by_deaths().order_by("lost_at").first()
    if job is None or not workers_are_quiet():
        return False
    with transaction.atomic():
        if given := states.try_once_more(job.pk):
            states.append_log(Job.objects.filter(pk=job.pk), "No worker has died for a while: one more try.")
            wake(job.queue)
    return given


def workers_are_quiet() -> bool:
    """No job lost its worker lately, and no worker was started, as after a death without a job."""
    lately = timezone.now() - timedelta(seconds=conf.get("GYM_JOB_QUIET_SECONDS"))
    lost = Job.objects.filter(lost_at__gt=lately)
    return not lost.exists() and not WorkerHeartbeat.objects.filter(started__gt=lately).exists()


def resend_wakeups() -> int:
    """Where a job has been queued for long, make sure that there are as many messages as claimable jobs. Of one that
    was handed back, a worker that cannot do it may have used up the message, so for that one the time does not count.
    """
    long_ago = timezone.now() - timedelta(seconds=conf.get("GYM_JOB_WAKE_SECONDS"))
    sent = 0
    for queue in conf.queues():
        waiting = fairness.ready(queue)  # by any worker: this one may lack what others have
        if not waiting.filter(Q(not_before__lte=long_ago) | ~Q(waits_for="")).exists():
            continue
        missing = min(waiting.count() - ready_messages(queue), MAX_WAKES)
        for _ in range(missing):
            wake(queue)
            sent += 1
        if missing > 0:
            log.warning("queue %s: sent %d missing wake-ups", queue, missing)
    return sent


def hold_lock(holder: str, seconds: float) -> bool:
    """Take or keep the reaper's lock for `seconds`. False: another worker has it."""
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
    """The thread in every worker process that runs `reap` when it holds the lock."""

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
                    self.once(interval)
                    wait = interval
                else:  # the whole machine slept, and with it every heartbeat: let them catch up first
                    log.warning("the clock jumped by %.0f s; not reaping before the next round", asleep)
                    wait = max(interval, conf.lease_seconds() / 2)
                if self.over.wait(wait):
                    return
        finally:
            connections.close_all()

    def once(self, interval: float) -> None:
        try:
            if hold_lock(self.holder, 2 * interval + 1):
                reap()
        except DatabaseError:
            log.exception("the reaper could not reach the database; trying again in %.0f s", interval)
            connection.close()
        except Exception:  # an unreachable message broker must not end this thread
            log.exception("the reaper failed; trying again in %.0f s", interval)

    def stop(self) -> None:
        self.over.set()
