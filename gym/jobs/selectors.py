"""Queries for pages and API: positions, queues and workers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.db.models import Count, Min, Q, QuerySet
from django.utils import timezone

from gym.accounts.models import AnyUser
from gym.jobs import conf, fairness
from gym.jobs.models import Job, State, WorkerHeartbeat
from lmgym.text import count

RECENT = 20
"""Number of finished jobs whose durations estimate those of waiting ones."""
MAX_NAMED = 3
"""Maximum number of running jobs named in the reason for waiting."""
ALIVE = timedelta(seconds=3 * conf.SIGN_SECONDS + 15)


@dataclass(frozen=True)
class QueueSummary:
    name: str
    queued: int
    running: int
    workers: int  # live workers that serve this queue
    waiting_seconds: float  # of the longest-waiting job; 0 if none waits

    @property
    def is_stuck(self) -> bool:
        """True if jobs are queued and no live worker serves the queue."""
        return self.queued > 0 and self.workers == 0


@dataclass(frozen=True)
class WorkerView:
    id: str
    host: str
    pid: int
    queues: list[str]
    threads: int
    device: str
    started: object
    last_seen: object
    alive: bool
    jobs: list[Job]
    last_error: str
    last_error_at: object
    memory: dict[str, Any]
    process_bytes: int | None
    version: str
    broker_problem: str
    clock_seconds: float


def position_in_queue(job: Job) -> int | None:
    """Return the job's position (1 = next), assuming no more jobs are queued; None if it is not queued."""
    return fairness.position(job)


def behind(job: Job | None, user: AnyUser) -> str:
    """Describe what a queued job is waiting for: `next in the queue, behind Demo GPT-2 on Agreement r1`; empty if it is
    not queued. Titles of other users' jobs can name private objects, so only staff see them."""
    if job is None or job.state != State.QUEUED:
        return ""
    if job.waits_for:
        return f"waiting for a worker with {job.waits_for}"
    note_silence([job])
    return f"no worker serves the queue “{job.queue}”" if job.silence else place_in_queue(job, user)


def place_in_queue(job: Job, user: AnyUser) -> str:
    """Describe the position of a job whose queue has workers."""
    place = position_in_queue(job)
    if place is None:
        return ""
    words = "next in the queue" if place == 1 else f"number {place} in the queue"
    at_work = Job.objects.filter(state=State.RUNNING, queue__in=_same_threads(job.queue)).order_by("started")
    titles = [_title_for(user, other) for other in at_work[:MAX_NAMED]]
    if titles:
        words += f", behind {' and '.join(dict.fromkeys(titles))}"
    wait = seconds_until_start(job, place)
    return f"{words}; starts in about {about(wait)}" if wait is not None and wait >= 60 else words


def seconds_until_start(job: Job, place: int) -> float | None:
    """Estimate when a queued job starts, from the rest of the running jobs and the jobs ahead of it, which take the
    median duration of the last finished ones of its queue, shared by the threads that serve the queue. None if nothing
    has finished yet or no worker serves it.

    Args:
        place: position in the queue; 1 = next.
    """
    queues = _same_threads(job.queue)
    live = [row for row in WorkerHeartbeat.objects.all() if row.is_alive(ALIVE) and job.queue in row.queues]
    threads = sum(1 if conf.has_own_thread(job.queue) else row.threads for row in live)
    ended = Job.objects.filter(
        state=State.DONE, queue=job.queue, started__isnull=False, finished__isnull=False
    )
    recent = ended.order_by("-started").values_list("started", "finished")[
        :RECENT
    ]  # by the index of both columns
    durations = [(end - start).total_seconds() for start, end in recent if start and end]
    if not threads or not durations:
        return None
    typical = median(durations)
    at_work = Job.objects.filter(state=State.RUNNING, queue__in=queues)
    rest = [typical if (left := other.eta_seconds) is None else left for other in at_work]
    if place <= threads - len(rest):
        return 0.0
    return (sum(rest) + (place - 1) * typical) / threads


def about(seconds: float) -> str:
    """Round a duration for people: "5 minutes", "2 hours"."""
    minutes = round(seconds / 60)
    return count(minutes, "minute") if minutes < 90 else count(round(minutes / 60), "hour")


def _same_threads(queue: str) -> list[str]:
    """Return the queues that share threads with this one."""
    if conf.has_own_thread(queue):
        return [queue]
    return [name for name in conf.queues() if not conf.has_own_thread(name)]


def _title_for(user: AnyUser, job: Job) -> str:
    may_see = user.is_authenticated and (user.is_staff or job.owner_id == user.pk)
    return str(job) if may_see else "another user’s job" if job.owner_id else "a job of the site"


def workers() -> list[WorkerView]:
    """Return all workers with a heartbeat row, and their running jobs."""
    running: dict[str, list[Job]] = {}
    for job in Job.objects.filter(state=State.RUNNING).order_by("started"):
        running.setdefault(job.claimed_by, []).append(job)
    return [
        WorkerView(
            id=row.pk,
            host=row.host,
            pid=row.pid,
            queues=row.queues,
            threads=row.threads,
            device=row.device,
            started=row.started,
            last_seen=row.last_seen,
            alive=row.is_alive(ALIVE),
            jobs=running.get(row.pk, []),
            last_error=row.last_error,
            last_error_at=row.last_error_at,
            memory=row.memory,
            process_bytes=row.process_bytes,
            version=row.version,
            broker_problem=row.broker_problem,
            clock_seconds=row.clock_seconds,
        )
        for row in WorkerHeartbeat.objects.all()
    ]


def broker_problem_of(known_workers: Iterable[WorkerView]) -> str:
    """Return why a live worker receives no messages from the broker; "" if all do."""
    return next(
        (worker.broker_problem for worker in known_workers if worker.alive and worker.broker_problem), ""
    )


NO_WORKER, SILENT = "no worker", "silent"


def note_silence(jobs: Iterable[Job | None]) -> None:
    """Set `silence` on jobs: NO_WORKER if one is queued and no live worker serves its queue, SILENT if the worker that
    runs it has missed its heartbeats. Makes one query, or none without active jobs."""
    active = [job for job in jobs if job is not None and job.is_active]
    if not active:
        return
    live = {row.pk: row for row in WorkerHeartbeat.objects.all() if row.is_alive(ALIVE)}
    served = {queue for row in live.values() for queue in row.queues}
    for job in active:
        if job.state == State.RUNNING:
            job.silence = "" if job.claimed_by in live else SILENT
        else:
            job.silence = "" if job.queue in served else NO_WORKER


def idle_threads(queue: str) -> int:
    """Return the number of idle threads in this queue's live workers, minus the queue's ready jobs."""
    ordinary = [name for name in conf.queues() if not conf.has_own_thread(name)]
    running = Job.objects.filter(state=State.RUNNING, queue__in=ordinary).order_by()
    busy: dict[str, int] = dict(running.values_list("claimed_by").annotate(n=Count("pk")))
    idle = sum(
        max(0, row.threads - busy.get(row.pk, 0))
        for row in WorkerHeartbeat.objects.all()
        if row.is_alive(ALIVE) and queue in row.queues
    )
    return max(0, idle - fairness.ready(queue).filter(waits_for="").count())


def is_loaded_somewhere(name: str, queue: str) -> bool:
    """Return True if a live worker for this queue has reported a loaded model with this name."""
    return any(
        row.is_alive(ALIVE)
        and queue in row.queues
        and any(held.get("name") == name for held in row.memory.get("held", []))
        for row in WorkerHeartbeat.objects.all()
    )


def waited_for(jobs: QuerySet[Job]) -> list[tuple[str, int]]:
    """Return missing resources and the number of jobs that wait for each."""
    rows = jobs.filter(state=State.QUEUED).exclude(waits_for="").order_by("waits_for")
    return list(rows.values_list("waits_for").annotate(n=Count("pk")))


def queue_summary(known_workers: list[WorkerView] | None = None) -> list[QueueSummary]:
    """Summarise the configured queues and all queues with active jobs. `known_workers`: the result of
    `workers()`, if available."""
    counts: dict[str, dict[str, Any]] = {
        row["queue"]: dict(row)
        for row in Job.objects.filter(state__in=[State.QUEUED, State.RUNNING])
        .order_by()
        .values("queue")
        .annotate(
            queued=Count("id", filter=Q(state=State.QUEUED)),
            running=Count("id", filter=Q(state=State.RUNNING)),
            oldest=Min("not_before", filter=Q(state=State.QUEUED)),
        )
    }
    if known_workers is None:
        serving = [row.queues for row in WorkerHeartbeat.objects.all() if row.is_alive(ALIVE)]
    else:
        serving = [worker.queues for worker in known_workers if worker.alive]
    return [
        QueueSummary(
            name=name,
            queued=counts.get(name, {}).get("queued", 0),
            running=counts.get(name, {}).get("running", 0),
            workers=sum(name in queues for queues in serving),
            waiting_seconds=_seconds_since(counts.get(name, {}).get("oldest")),
        )
        for name in sorted({*conf.queues(), *counts})
    ]


def _seconds_since(moment: datetime | None) -> float:
    return max(0.0, (timezone.now() - moment).total_seconds()) if moment else 0.0
