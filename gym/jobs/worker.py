"""A worker process: dramatiq workers, reaper, watchdog and heartbeat."""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from time import monotonic
from types import FrameType
from typing import Any

import dramatiq
from django.db import Error as DatabaseError
from django.db import connection, connections
from django.db.models import Q
from django.dispatch import Signal
from django.utils import timezone

from gym.jobs import conf, fairness, lifecycle, runner, states
from gym.jobs.actors import polling_broker
from gym.jobs.context import JobContext
from gym.jobs.errors import OutOfTime
from gym.jobs.listener import Listener
from gym.jobs.models import Job, State, WorkerHeartbeat
from gym.jobs.polling import DatabaseBroker
from gym.jobs.process_memory import process_bytes
from gym.jobs.reaper import Reaper, recover_expired, release_dead_worker
from gym.jobs.selectors import ALIVE
from gym.jobs.supervisor import READY, print_line
from gym.jobs.versions import leave_to_newer
from lmgym import __version__

log = logging.getLogger(__name__)

worker_replaced = Signal()
"""Sent by a worker that replaces a dead one, before it claims jobs. Receivers import slow modules now, while other
workers run the dead worker's jobs."""
worker_signed_in = Signal()
"""Sent by a worker once its heartbeat row exists."""
LAST_SECONDS = 8.0  # time for cleaning up after the grace period
WORKER_TIMEOUT_MS = 250  # how long an idle thread of dramatiq waits before it looks whether it should stop
RESTART = 1  # exit code of a worker that exited deliberately and must be restarted
WATCHDOG_SECONDS = 1.0  # interval of the watchdog


def worker_threads() -> int:
    """Return the number of jobs that this worker runs at a time, not counting queues with their own threads; 1 outside
    a worker."""
    row = WorkerHeartbeat.objects.filter(pk=runner.worker_id()).values_list("threads", flat=True).first()
    return row or 1


def report(memory: dict[str, Any], devices: Iterable[str]) -> None:
    """Store this worker's devices and loaded models for the list of workers. `memory` is {"held": [{"name", "bytes",
    "seconds"}], "budget_bytes", "threads"}. Does nothing outside a worker."""
    values: dict[str, Any] = {"memory": memory}
    if device := ", ".join(sorted(set(devices))):
        values["device"] = device[:200]
    WorkerHeartbeat.objects.filter(pk=runner.worker_id()).update(**values)


class WorkerProcess:
    def __init__(
        self,
        queues: list[str],
        *,
        threads: int = 1,
        parent: int | None = None,
        replaces: str = "",
        exit_code: int | None = None,
        alive: int | None = None,
        deaths: int | None = None,
    ) -> None:
        self.queues = queues
        self.threads = threads
        self.parent = parent
        self.replaces = replaces
        self.exit_code = exit_code  # of the replaced worker
        self.alive = alive  # file descriptors of pipes to the supervisor
        self.deaths = deaths
        self.signals = 0
        self.watchdog = Watchdog()
        self.must_restart = False
        self.listeners: list[Listener] = []
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        self.device = "" if visible is None else f"CUDA_VISIBLE_DEVICES={visible}"[:200]

    def run(self) -> None:
        """Work until a signal arrives, the parent exits or the watchdog ends the process."""
        self._listen_to_signals()
        if self.replaces and (released := release_dead_worker(self.replaces, self.exit_code)):
            log.warning("released jobs of the dead worker: %d", released)
        if self.replaces:
            worker_replaced.send(sender=WorkerProcess)
        self._register()
        worker_signed_in.send(sender=WorkerProcess)
        print_line(f"worker {runner.worker_id()} {READY}: {', '.join(self.queues)}")
        workers = self._start_workers()
        reaper = Reaper(runner.worker_id())
        reaper.start()
        if self.deaths is not None:
            threading.Thread(target=release_reported_deaths, args=(self.deaths,), daemon=True).start()
        self._wait()
        lifecycle.stopping.set()
        self._shut_down(workers, reaper)
        log.info("worker %s is done", runner.worker_id())
        if self.must_restart or self.watchdog.must_exit:
            sys.exit(RESTART)

    def _start_workers(self) -> list[dramatiq.Worker]:
        """Start a dramatiq worker for the ordinary queues, and a single-threaded one for each queue with its
        own thread, so that short jobs do not queue behind hours of computing. All share the loaded models."""
        ordinary = [queue for queue in self.queues if not conf.has_own_thread(queue)]
        lanes = [(ordinary, self.threads)] if ordinary else []
        lanes += [([queue], 1) for queue in self.queues if conf.has_own_thread(queue)]
        return [self._start_worker(*lane) for lane in lanes]

    def _start_worker(self, queues: list[str], threads: int) -> dramatiq.Worker:
        polling, messages = polling_broker(), dramatiq.get_broker()
        polling.emit_after("process_boot")  # normally done by dramatiq's command line
        for queue in queues:
            polling.declare_queue(queue)
        worker = dramatiq.Worker(
            polling, queues=set(queues), worker_threads=threads, worker_timeout=WORKER_TIMEOUT_MS
        )
        worker.queue_prefetch = threads
        worker.start()
        if not isinstance(messages, DatabaseBroker):
            for queue in queues:
                listener = Listener(messages, polling, queue, is_quick=conf.is_quick(queue))
                listener.start()
                self.listeners.append(listener)
        return worker

    # --- stopping ---

    def _listen_to_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        # A plain integer, not an Event: the handler interrupts the main thread anywhere, even inside Event.wait()
        # while it holds the lock that Event.set() needs.
        self.signals += 1
        if self.signals > 1:
            os._exit(128 + number)  # second signal: exit now and let the lease expire

    def _wait(self) -> None:
        next_beat = time.monotonic() + conf.SIGN_SECONDS
        next_check = time.monotonic() + WATCHDOG_SECONDS
        while not self.signals:
            time.sleep(0.1)
            if self.parent is not None and os.getppid() != self.parent:
                log.warning("the supervisor exited; stopping")
                return
            if time.monotonic() >= next_beat:
                next_beat = time.monotonic() + conf.SIGN_SECONDS
                self._beat()
            if time.monotonic() >= next_check:
                next_check = time.monotonic() + WATCHDOG_SECONDS
                if self.alive is not None:
                    with suppress(BrokenPipeError):  # the supervisor exited: detected above in the next round
                        os.write(self.alive, b".")
                if self._must_end():
                    return
            if lifecycle.closing.is_set() and not runner.running():
                self.must_restart = True
                return

    def _shut_down(self, workers: list[dramatiq.Worker], reaper: Reaper) -> None:
        """Let handlers stop at their next check; after the grace period, queue their jobs again."""
        grace = conf.get("GYM_JOB_STOP_SECONDS")
        # Guarantees an exit with stacks in the log if something below hangs; leases take care of the rest.
        faulthandler.dump_traceback_later(grace + LAST_SECONDS, exit=True)
        reaper.stop()
        for listener in self.listeners:
            listener.stop()
        end = time.monotonic() + grace
        for worker in workers:
            worker.stop(timeout=max(0, int((end - time.monotonic()) * 1000)))
        end = time.monotonic() + LAST_SECONDS / 2
        for thread in (reaper, *self.listeners):  # they use connections, which are closed next
            thread.join(max(0.0, end - time.monotonic()))
        hanging = any(thread.is_alive() for worker in workers for thread in worker.workers)
        try:
            if hanging:
                runner.release_running()
            WorkerHeartbeat.objects.filter(pk=runner.worker_id()).delete()
        except DatabaseError:
            log.exception("could not clean up; leases and the reaper will take care of it")
        if hanging:  # the only way to end a thread that does not return
            logging.shutdown()
            sys.stderr.flush()
            os._exit(RESTART if self.must_restart or self.watchdog.must_exit else 0)
        dramatiq.get_broker().close()
        connections.close_all()
        faulthandler.cancel_dump_traceback_later()

    # --- heartbeat ---

    def _register(self) -> None:
        WorkerHeartbeat.objects.update_or_create(
            pk=runner.worker_id(),
            defaults={
                "host": socket.gethostname()[:120],
                "pid": os.getpid(),
                "queues": self.queues,
                "threads": self.threads,
                "device": self.device,
                "version": __version__,
                **self._heartbeat_values(),
            },
        )

    def _must_end(self) -> bool:
        """Return True if this process must exit because a handler does not stop or an error broke it."""
        try:
            return self.watchdog.check()
        except DatabaseError:
            log.exception("the watchdog could not reach the database; trying again")
            connection.close()
            return False

    def _beat(self) -> None:
        try:
            values = self._heartbeat_values()
            if not WorkerHeartbeat.objects.filter(pk=runner.worker_id()).update(**values):
                self._register()  # a reaper deleted the row as dead
            if not lifecycle.closing.is_set() and (reason := self._why_replace(values["process_bytes"] or 0)):
                log.warning(
                    "this worker claims no more jobs and exits after the current ones: %s",
                    reason,
                )
                lifecycle.closing.set()
        except DatabaseError as error:
            log.warning("could not write the heartbeat; trying again: %s", error)
            connection.close()

    def _heartbeat_values(self) -> dict[str, Any]:
        return {
            "last_seen": timezone.now(),
            "process_bytes": process_bytes() or None,
            "clock_seconds": clock_seconds(),
            "broker_problem": next((one.problem for one in self.listeners if one.problem), ""),
        }

    def _why_replace(self, used_bytes: int) -> str:
        """Return why another process should replace this one; "" if none should."""
        limit = int(conf.get("GYM_WORKER_MEMORY_MB"))
        if limit and used_bytes > limit * 1_000_000 and runner.has_run():  # else too low a limit would loop
            return f"it uses {used_bytes / 1e6:,.0f} MB; GYM_WORKER_MEMORY_MB is {limit:,}"
        return leave_to_newer(self.queues, ALIVE)


def clock_seconds() -> float:
    """Return this machine's clock minus the database's in seconds; 0 for SQLite, which runs on this machine."""
    if connection.vendor != "postgresql":
        return 0.0
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXTRACT(EPOCH FROM clock_timestamp())")
        return round(time.time() - float(cursor.fetchone()[0]), 3)


def release_reported_deaths(pipe: int) -> None:
    """Release the jobs of workers that the supervisor reports as dead, because their replacements need
    seconds to start."""
    with open(pipe) as lines:
        for line in lines:
            worker_id, _, code = line.strip().partition(" ")
            try:
                if released := release_dead_worker(worker_id, int(code) if code else None):
                    log.warning("released jobs (%d) of the dead worker %s", released, worker_id)
            except DatabaseError:
                log.exception("could not release the jobs of %s; its replacement will", worker_id)
            finally:
                connection.close()


def drain(queues: list[str], *, once: bool = False) -> int:
    """Run queued jobs in this thread until none is left, or just one if `once`, or until a worker of a newer version
    starts or the database is upgraded. Return the number of attempts.

    Recovers lost jobs first and whenever nothing else is left to do, and waits for the leases of silent workers. Jobs
    that need a missing resource are left to other workers.
    """
    started, ran = timezone.now(), 0
    check_at = monotonic() + conf.SIGN_SECONDS
    recover_expired()
    while any(lifecycle.may_claim(queue) for queue in queues):
        if monotonic() >= check_at:
            check_at = monotonic() + conf.SIGN_SECONDS
            if reason := leave_to_newer(queues, ALIVE):
                log.warning("this worker claims no more jobs: %s", reason)
                lifecycle.closing.set()
                break
        if any(runner.run_next(queue) for queue in queues):
            ran += 1
            if once:
                break
        elif once or not _is_work_left(queues, started):
            break
        elif not recover_expired() and not any(fairness.claimable(queue).exists() for queue in queues):
            time.sleep(0.2)  # a job is waiting for its next try or for the end of a lease
    return ran


def _is_work_left(queues: list[str], started: datetime) -> bool:
    jobs = Job.objects.filter(queue__in=queues)
    queued = Q(state=State.QUEUED) & ~Q(waits_for__in=fairness.missing_resources())
    return jobs.filter(queued | Q(state=State.RUNNING, heartbeat_at__lt=started)).exists()


class Watchdog:
    """Watchdog that ends attempts whose handlers ignore cancellation, a lost lease or the time limit, and the worker if
    its process is broken (a lost GPU) or a handler never stops. The main thread calls `check` about once a second.

    A handler that calls `context.check()` stops within a second. A handler stuck in a computation, a download
    or a kernel cannot be interrupted, because Python cannot interrupt a thread. Its attempt is ended anyway,
    after which its writes match no row. If it still occupies its thread a minute later, the worker exits, its
    other jobs are queued again, and another worker is started."""

    def __init__(self) -> None:
        self.must_exit = False
        self._should_stop: dict[JobContext, float] = {}
        self._ended: set[JobContext] = set()

    def check(self) -> bool:
        """End the attempts whose handlers have not stopped in time. Return True if the worker must exit."""
        if lifecycle.broken.is_set():
            self.must_exit = True
            return True
        running = runner.running()
        self._should_stop = {context: at for context, at in self._should_stop.items() if context in running}
        self._ended &= running
        if not running:
            return False
        now = monotonic()
        for context in running & (
            _cancelled_or_lost(running) | {attempt for attempt in running if attempt.is_out_of_time}
        ):
            self._should_stop.setdefault(context, now)
        react, deaf = conf.get("GYM_JOB_REACT_SECONDS"), conf.get("GYM_JOB_DEAF_SECONDS")
        for context, since in self._should_stop.items():
            if context not in self._ended and now - since >= react:
                self._end(context)
            if now - since >= react + deaf:
                log.error("job %s does not stop: the worker exits", context.job_id)
                self.must_exit = True
        return self.must_exit

    def _end(self, context: JobContext) -> None:
        """End an attempt. Later writes of its handler match no row."""
        live = states.fenced(context.job_id, context.attempt)
        states.append_log(live, "The handler did not stop when asked; the attempt was ended.")
        state = states.end_attempt(live, str(OutOfTime(context.seconds)), permanent=True)
        context.lose()
        self._ended.add(context)
        log.warning(
            "job %s did not stop when asked; it is now %s", context.job_id, state or "another attempt’s"
        )


def _cancelled_or_lost(running: set[JobContext]) -> set[JobContext]:
    live = Job.objects.filter(
        pk__in=[context.job_id for context in running], state=State.RUNNING, cancel_requested=False
    )
    attempts = set(live.values_list("pk", "attempt"))
    return {
        context
        for context in running
        if not context.finished and (context.job_id, context.attempt) not in attempts
    }
