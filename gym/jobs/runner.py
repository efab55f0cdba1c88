"""Run an attempt: claim a job, keep its lease alive, call its handler, and record the outcome."""

from __future__ import annotations

import logging
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic, sleep
from typing import Any

from django.db import Error as DatabaseError
from django.db import close_old_connections, connection, connections, transaction
from django.utils import timezone

from gym import log_fields
from gym.jobs import conf, fairness, lifecycle, states, text
from gym.jobs.context import JobContext
from gym.jobs.errors import (
    Cancelled,
    LostLease,
    MissingResource,
    OutOfTime,
    PermanentFailure,
    Preempted,
    UnknownKind,
    WorkerStopping,
)
from gym.jobs.handlers import broke_process, get_handler
from gym.jobs.models import Job, WorkerHeartbeat

log = logging.getLogger(__name__)

WRITE_AGAIN_SECONDS = 0.5
_running: set[JobContext] = set()
_has_run = False
_worker_id = f"{socket.gethostname()[:40]}-{uuid.uuid4().hex[:12]}"


def worker_id() -> str:
    """Return the name under which this process claims jobs."""
    return _worker_id


def set_worker_id(name: str) -> None:
    """Set the name that the supervisor chose. Call once, before any claim."""
    global _worker_id
    _worker_id = name[:60]


def run_next(queue: str) -> Job | None:
    """Claim and run one job of `queue`. Return the job as claimed, or None."""
    if not lifecycle.may_claim(queue):
        return None
    job = states.claim_next(queue, worker_id())
    if job is not None:
        run(job)
    return job


def run(job: Job, *, heartbeat: bool = True) -> str | None:
    """Run a claimed job to the end of this attempt. Return the new state, or None if the lease was lost."""
    global _has_run
    _has_run = True
    context = JobContext(job, stopping=lifecycle.stopping)
    _running.add(context)
    level = logging.DEBUG if conf.is_quick(job.queue) else logging.INFO  # quick jobs run while a user types
    with log_fields.fields(job=str(job.pk), kind=job.kind, queue=job.queue, user=job.owner_id):
        log.log(level, "job %s (%s) attempt %d starts", job.pk, job.kind, job.attempt)
        begun = monotonic()
        try:
            state = _attempt(context, job, _heartbeat(context) if heartbeat else nullcontext())
        finally:
            _running.discard(context)
        ended = state or "lease lost, nothing written"
        log_fields.add(state=state, seconds=round(monotonic() - begun, 3))
        log.log(level, "job %s attempt %d ended: %s", job.pk, job.attempt, ended)
    return state


def has_run() -> bool:
    """Return True if this process has started an attempt."""
    return _has_run


def running() -> set[JobContext]:
    """Return the running attempts of this process."""
    return set(_running)


def release_running() -> None:
    """Requeue the jobs of handlers that did not stop in time. Their threads cannot write afterwards."""
    for context in running():
        live = states.fenced(context.job_id, context.attempt)
        if states.end_attempt(live, "The worker was stopped.", keep_try=True):
            log.warning("job %s did not stop in time and went back to the queue", context.job_id)


def _attempt(context: JobContext, job: Job, heartbeat: AbstractContextManager[None]) -> str | None:
    try:
        with heartbeat:
            get_handler(job.kind)(context)
            if not context.finished:
                with context.finish():
                    pass
        return "done"
    except LostLease:
        return None
    except Cancelled:
        return _end(context, "")
    except OutOfTime as error:
        return _end(context, str(error), permanent=True, noted=error)
    except WorkerStopping:
        return _end(context, "The worker was stopped.", keep_try=True)
    except Preempted:
        return _end(context, "Yielded to other users’ jobs.", keep_try=True)
    except MissingResource as error:
        fairness.note_missing(error.what)
        log.warning("job %s was returned to the queue: this worker lacks %s", job.pk, error.what)
        return _end(context, str(error), keep_try=True, waits_for=error.what)
    except (PermanentFailure, UnknownKind) as error:
        _note_if_broken(error)
        return _end(context, text.clean(error, text.MAX_ERROR) or "failed", permanent=True, noted=error)
    except Exception as error:  # noqa: BLE001  any error of a handler is the outcome of the job, and is logged
        _note_if_broken(error)
        return _fail(context, job, error)
    except BaseException:  # the process is exiting: queue the job again and propagate
        live = states.fenced(job.pk, job.attempt)
        states.end_attempt(live, "The worker was interrupted.", keep_try=True)
        raise


def _note_if_broken(error: BaseException) -> None:
    if broke_process(error):
        log.error("this process is no longer usable and will exit: %s", error)
        lifecycle.broken.set()


def _fail(context: JobContext, job: Job, error: Exception) -> str | None:
    if context.finished:  # the results are committed; a later error does not change them
        log.exception("job %s failed after it had finished", job.pk)
        return "done"
    if not connection.in_atomic_block:  # if the connection was lost, a new one is needed below
        close_old_connections()
    traceback = text.describe_traceback(error)  # sanitised, as the message can contain user input
    log.warning("job %s (%s) attempt %d failed\n%s", job.pk, job.kind, job.attempt, traceback)
    entry = f"Try {job.tries} of {job.max_attempts} failed.\n{traceback}"
    return _end(
        context, text.describe_error(error), entry=entry, delay=conf.retry_seconds(job.tries), noted=error
    )


def _end(
    context: JobContext, error: str, *, entry: str = "", noted: BaseException | None = None, **how: Any
) -> str | None:
    """Call `states.end_attempt` and append `entry` to the log. Retry for up to a lease while the database cannot be
    written; after that, the reaper ends the attempt."""
    live = states.fenced(context.job_id, context.attempt)
    until = monotonic() + conf.lease_seconds()
    while True:
        try:
            with transaction.atomic():
                if entry:
                    states.append_log(live, entry)
                state = states.end_attempt(live, error, **how)
            break
        except DatabaseError as refused:
            if connection.in_atomic_block or lifecycle.stopping.is_set() or monotonic() >= until:
                raise
            log.warning("the end of job %s cannot be written (%s); trying again", context.job_id, refused)
            connection.close()
            sleep(WRITE_AGAIN_SECONDS)
    if noted is not None:
        _note_error(noted)
    return state


def _note_error(error: BaseException) -> None:
    """Store the worker's last error for the list of workers. Does nothing outside a worker."""
    message = text.clean(text.describe_error(error), text.MAX_ERROR)
    WorkerHeartbeat.objects.filter(pk=worker_id()).update(last_error=message, last_error_at=timezone.now())


@contextmanager
def _heartbeat(context: JobContext) -> Iterator[None]:
    """Renew the lease from a separate thread while the handler computes."""
    over = threading.Event()
    thread = threading.Thread(target=_beat_until, args=(context, over), name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _beat_until(context: JobContext, over: threading.Event) -> None:
    wait = conf.lease_seconds() / 3
    try:
        while not over.wait(wait):
            try:
                context.beat()
                wait = conf.lease_seconds() / 3
            except DatabaseError:
                log.exception("heartbeat of job %s failed; trying again", context.job_id)
                connection.close()
                wait = conf.lease_seconds() / 10
    finally:
        connections.close_all()
