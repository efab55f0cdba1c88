"""A worker process: dramatiq's Worker in this process, the reaper, and a sign of life in the database."""

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

from gym.jobs import conf, fairness, runner, states
from gym.jobs.actors import another_broker
from gym.jobs.context import JobContext
from gym.jobs.errors import OutOfTime
from gym.jobs.models import Job, State, WorkerHeartbeat
from gym.jobs.process_memory import process_bytes
from gym.jobs.reaper import Reaper, bring_back, release_dead_worker
from gym.jobs.supervisor import READY, print_line

log = logging.getLogger(__name__)

worker_replaced = Signal()
"""Sent by a worker that takes the place of one that died, before it claims jobs. What takes long to import is imported
here: until then workers that have it get on with the jobs of the dead one."""
worker_signed_in = Signal()
"""Sent by a worker that begins to work, once its row is there."""
LAST_SECONDS = 8.0  # for signing off and closing connections, after the grace period
WAKE_TIMEOUT_MS = 250  # longest sleep of an idle Redis consumer
RESTART = 1  # exit code of a worker that ended itself: whoever keeps workers running starts another
LOOK_SECONDS = 1.0  # how often the watchdog looks at the handlers
QUICK_TIMEOUT_MS = 50  # the same, for a queue whose jobs people wait for


def worker_threads() -> int:
    """How many jobs this worker runs at the same time, those of queues with a thread of their own apart; 1 outside a
    worker."""
    row = WorkerHeartbeat.objects.filter(pk=runner.worker_id()).values_list("threads", flat=True).first()
    return row or 1


def report(memory: dict[str, Any], devices: Iterable[str]) -> None:
    """Say what this worker keeps loaded, for the list of workers: {"held": [{"name", "bytes", "seconds"}],
    "budget_bytes", "threads"}, and on which devices. Outside a worker: nothing."""
    values: dict[str, Any] = {"memory": memory}
    if named := ", ".join(sorted(set(devices))):
        values["device"] = named[:200]
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
        self.exit_code = exit_code  # of the worker that this one replaces
        self.alive = alive  # pipes of the supervisor's, by their numbers
        self.deaths = deaths
        self.signals = 0
        self.watchdog = Watchdog()
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        self.device = "" if visible is None else f"CUDA_VISIBLE_DEVICES={visible}"[:200]

    def run(self) -> None:
        """Work until a signal arrives or the parent is gone."""
        self._listen_to_signals()
        if self.replaces and (released := release_dead_worker(self.replaces, self.exit_code)):
            log.warning("took back %d jobs of the worker that died", released)
        if self.replaces:
            worker_replaced.send(sender=WorkerProcess)
        self._sign_in()
        worker_signed_in.send(sender=WorkerProcess)
        print_line(f"worker {runner.worker_id()} {READY}: {', '.join(self.queues)}")
        workers = self._start_workers()
        reaper = Reaper(runner.worker_id())
        reaper.start()
        if self.deaths is not None:
            threading.Thread(target=hear_of_deaths, args=(self.deaths,), daemon=True).start()
        self._wait()
        runner.stopping.set()
        self._shut_down(workers, reaper)
        log.info("worker %s is done", runner.worker_id())
        if self.watchdog.bit:
            sys.exit(RESTART)

    def _start_workers(self) -> list[dramatiq.Worker]:
        """One for the ordinary queues, and one with a thread of its own for each quick queue and each queue of short
        work or of work that waits for other machines: what a person waits for does not queue behind hours of work,
        and work that computes does not queue behind work that waits. They share the process, and so the loaded
        models."""
        ordinary = [queue for queue in self.queues if not conf.has_own_thread(queue)]
        lanes = [(ordinary, self.threads)] if ordinary else []
        lanes += [([queue], 1) for queue in self.queues if conf.has_own_thread(queue)]
        brokers = [dramatiq.get_broker(), *(another_broker() for _ in lanes[1:])]
        return [self._start_worker(broker, *lane) for broker, lane in zip(brokers, lanes, strict=True)]

    @staticmethod
    def _start_worker(broker: dramatiq.Broker, queues: list[str], threads: int) -> dramatiq.Worker:
        broker.emit_after("process_boot")  # only dramatiq's own command line does this otherwise
        for queue in queues:
            broker.declare_queue(queue)
        quick = any(conf.is_quick(queue) for queue in queues)
        worker = dramatiq.Worker(
            broker,
            queues=set(queues),
            worker_threads=threads,
            worker_timeout=QUICK_TIMEOUT_MS if quick else WAKE_TIMEOUT_MS,
        )
        worker.queue_prefetch = threads  # one message per thread: the others are for other workers
        worker.start()
        return worker

    # --- stopping ---

    def _listen_to_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        # A plain number and no Event: this interrupts the main thread anywhere, even inside Event.wait() while
        # it holds the lock that Event.set() needs.
        self.signals += 1
        if self.signals > 1:
            os._exit(128 + number)  # the second one: now. The lease runs out by itself.

    def _wait(self) -> None:
        next_sign = time.monotonic() + conf.SIGN_SECONDS
        next_look = time.monotonic() + LOOK_SECONDS
        while not self.signals:
            time.sleep(0.1)
            if self.parent is not None and os.getppid() != self.parent:
                log.warning("the supervisor is gone; stopping")
                return
            if time.monotonic() >= next_sign:
                next_sign = time.monotonic() + conf.SIGN_SECONDS
                self._sign()
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + LOOK_SECONDS
                if self.alive is not None:
                    with suppress(BrokenPipeError):  # the supervisor is gone: seen above, next time
                        os.write(self.alive, b".")
                if self._must_end():
                    return

    def _shut_down(self, workers: list[dramatiq.Worker], reaper: Reaper) -> None:
        """Let the handlers stop at their next check; after the grace period give their jobs back."""
        grace = conf.get("GYM_JOB_STOP_SECONDS")
        # Whatever hangs below, a stack in the log and the end are certain; leases take care of the rest.
        faulthandler.dump_traceback_later(grace + LAST_SECONDS, exit=True)
        reaper.stop()
        end = time.monotonic() + grace
        for worker in workers:
            worker.stop(timeout=max(0, int((end - time.monotonic()) * 1000)))
        reaper.join(LAST_SECONDS / 2)  # it shares the message broker's connections, which are closed next
        hanging = any(thread.is_alive() for worker in workers for thread in worker.workers)
        try:
            if hanging:
                runner.release_running()
            WorkerHeartbeat.objects.filter(pk=runner.worker_id()).delete()
        except DatabaseError:
            log.exception("could not sign off; leases and the reaper will take care of it")
        if hanging:  # a thread that does not return cannot be ended in any other way
            logging.shutdown()
            sys.stderr.flush()
            os._exit(RESTART if self.watchdog.bit else 0)
        for worker in workers:
            worker.broker.close()
        connections.close_all()
        faulthandler.cancel_dump_traceback_later()

    # --- signs of life ---

    def _sign_in(self) -> None:
        WorkerHeartbeat.objects.update_or_create(
            pk=runner.worker_id(),
            defaults={
                "host": socket.gethostname()[:120],
                "pid": os.getpid(),
                "queues": self.queues,
                "threads": self.threads,
                "device": self.device,
                **_sign_of_life(),
            },
        )

    def _must_end(self) -> bool:
        """Whether a handler holds its thread so firmly that only the end of the process frees it."""
        try:
            return self.watchdog.look()
        except DatabaseError:
            log.exception("the watchdog could not reach the database; trying again")
            connection.close()
            return False

    def _sign(self) -> None:
        try:
            if not WorkerHeartbeat.objects.filter(pk=runner.worker_id()).update(**_sign_of_life()):
                self._sign_in()  # a reaper took us for dead
        except DatabaseError:
            log.exception("could not sign in the database; trying again")
            connection.close()


def _sign_of_life() -> dict[str, Any]:
    return {"last_seen": timezone.now(), "process_bytes": process_bytes() or None}


def hear_of_deaths(pipe: int) -> None:
    """Free the jobs of workers that the supervisor says are dead: who takes a worker's place needs seconds to start."""
    with open(pipe) as lines:
        for line in lines:
            worker_id, _, code = line.strip().partition(" ")
            try:
                if released := release_dead_worker(worker_id, int(code) if code else None):
                    log.warning("freed %d jobs of the worker %s, which died", released, worker_id)
            except DatabaseError:
                log.exception("could not free the jobs of %s; who takes its place will", worker_id)
            finally:
                connection.close()


def drain(queues: list[str], *, once: bool = False) -> int:
    """Run queued jobs in this thread until none is left (or one was run). Returns how many attempts ran.

    Lost jobs are looked for first, and whenever nothing else is to be done. A running job whose worker gives no sign
    of life is waited for: it is taken when its lease is over. What this worker lacks the files for is left to others.
    """
    started, ran = timezone.now(), 0
    bring_back()
    while not (runner.stopping.is_set() or runner.broken.is_set()):
        if any(runner.run_next(queue) for queue in queues):
            ran += 1
            if once:
                break
        elif once or not _is_work_left(queues, started):
            break
        elif not bring_back() and not any(fairness.claimable(queue).exists() for queue in queues):
            time.sleep(0.2)  # a job waits for its second try, or for the end of a lease
    return ran


def _is_work_left(queues: list[str], started: datetime) -> bool:
    jobs = Job.objects.filter(queue__in=queues)
    queued = Q(state=State.QUEUED) & ~Q(waits_for__in=fairness.lacking())
    return jobs.filter(queued | Q(state=State.RUNNING, heartbeat_at__lt=started)).exists()


class Watchdog:
    """Ends the worker when an error left its process unable to work (a GPU that is gone), and the attempts whose
    handlers do not stop when they should: cancelled ones, and those whose time is over. One thread of the worker has it
    look about once a second.

    A handler that calls `context.check()` hears of both within a second, and this has nothing to do. One that sits in a
    computation, a download or a kernel cannot be interrupted from outside: nothing interrupts a thread. So its attempt
    is ended without it (what it writes afterwards matches no row), and if it still holds its thread a minute later the
    worker ends, which gives the other jobs back and is started again."""

    def __init__(self) -> None:
        self.bit = False
        self._should_stop: dict[JobContext, float] = {}
        self._ended: set[JobContext] = set()

    def look(self) -> bool:
        """End the attempts whose handlers have not stopped in time. True: one of them still has not, or an error left
        this process unable to work, and the worker has to end."""
        if runner.broken.is_set():
            self.bit = True
            return True
        running = runner.running()
        self._should_stop = {context: at for context, at in self._should_stop.items() if context in running}
        self._ended &= running
        if not running:
            return False
        now = monotonic()
        for context in running & (_cancelled(running) | {one for one in running if one.is_out_of_time}):
            self._should_stop.setdefault(context, now)
        react, deaf = conf.get("GYM_JOB_REACT_SECONDS"), conf.get("GYM_JOB_DEAF_SECONDS")
        for context, since in self._should_stop.items():
            if context not in self._ended and now - since >= react:
                self._end(context)
            if now - since >= react + deaf:
                log.error("job %s holds its thread and does not stop: the worker ends", context.job_id)
                self.bit = True
        return self.bit

    def _end(self, context: JobContext) -> None:
        """The handler's writes match no row from here on."""
        live = states.fenced(context.job_id, context.attempt)
        states.append_log(
            live, "The work did not stop when it was asked to; its attempt was ended all the same."
        )
        state = states.end_attempt(live, str(OutOfTime(context.seconds)), permanent=True)
        context.lose()
        self._ended.add(context)
        log.warning("job %s did not stop when it should; it is %s now", context.job_id, state)


def _cancelled(running: set[JobContext]) -> set[JobContext]:
    asked = Job.objects.filter(pk__in=[context.job_id for context in running], cancel_requested=True)
    attempts = set(asked.values_list("pk", "attempt"))
    return {context for context in running if (context.job_id, context.attempt) in attempts}
