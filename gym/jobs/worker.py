"""A worker process: dramatiq's Worker in this process, the reaper, and a sign of life in the database."""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Iterable
from types import FrameType
from typing import Any

import dramatiq
from django.db import Error as DatabaseError
from django.db import connection, connections
from django.utils import timezone

from gym.jobs import conf, fairness, runner
from gym.jobs.models import Job, State, WorkerHeartbeat
from gym.jobs.reaper import Reaper, release_dead_worker

log = logging.getLogger(__name__)

LAST_SECONDS = 8.0  # for signing off and closing connections, after the grace period
WAKE_TIMEOUT_MS = 250  # longest sleep of an idle Redis consumer
QUICK_TIMEOUT_MS = 50  # the same, for a queue whose jobs people wait for


def worker_threads() -> int:
    """How many jobs this worker runs at the same time, quick ones apart; 1 outside a worker."""
    row = WorkerHeartbeat.objects.filter(pk=runner.worker_id()).values_list("threads", flat=True).first()
    return row or 1


def report(memory: dict[str, Any], devices: Iterable[str]) -> None:
    """Say what this worker keeps loaded, for the list of workers: {"held": [{"name", "bytes", "seconds"}],
    "budget_bytes", "process_bytes", "threads"}, and on which devices. Outside a worker: nothing."""
    values: dict[str, Any] = {"memory": memory}
    if named := ", ".join(sorted(set(devices))):
        values["device"] = named[:200]
    WorkerHeartbeat.objects.filter(pk=runner.worker_id()).update(**values)


class WorkerProcess:
    def __init__(
        self, queues: list[str], *, threads: int = 1, parent: int | None = None, replaces: str = ""
    ) -> None:
        self.queues = queues
        self.threads = threads
        self.parent = parent
        self.replaces = replaces
        self.signals = 0

    def run(self) -> None:
        """Work until a signal arrives or the parent is gone."""
        self._listen_to_signals()
        if self.replaces and (released := release_dead_worker(self.replaces)):
            log.warning("took back %d jobs of the worker that died", released)
        self._sign_in()
        workers = self._start_workers()
        reaper = Reaper(runner.worker_id())
        reaper.start()
        log.info("worker %s serves %s", runner.worker_id(), ", ".join(self.queues))
        self._wait()
        runner.stopping.set()
        self._shut_down(workers, reaper)
        log.info("worker %s is done", runner.worker_id())

    def _start_workers(self) -> list[dramatiq.Worker]:
        """One for the ordinary queues, and one with a thread of its own for each quick queue: what a person waits for
        does not queue behind hours of work. They share the process, and so the loaded models."""
        broker = dramatiq.get_broker()
        broker.emit_after("process_boot")  # only dramatiq's own command line does this otherwise
        for queue in self.queues:
            broker.declare_queue(queue)
        ordinary = [queue for queue in self.queues if not conf.is_quick(queue)]
        lanes = [(ordinary, self.threads)] if ordinary else []
        lanes += [([queue], 1) for queue in self.queues if conf.is_quick(queue)]
        return [self._start_worker(broker, queues, threads) for queues, threads in lanes]

    @staticmethod
    def _start_worker(broker: dramatiq.Broker, queues: list[str], threads: int) -> dramatiq.Worker:
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
        while not self.signals:
            time.sleep(0.1)
            if self.parent is not None and os.getppid() != self.parent:
                log.warning("the supervisor is gone; stopping")
                return
            if time.monotonic() >= next_sign:
                next_sign = time.monotonic() + conf.SIGN_SECONDS
                self._sign()

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
            os._exit(0)
        dramatiq.get_broker().close()
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
                "device": os.environ.get("CUDA_VISIBLE_DEVICES", ""),
                "last_seen": timezone.now(),
            },
        )

    def _sign(self) -> None:
        try:
            if not WorkerHeartbeat.objects.filter(pk=runner.worker_id()).update(last_seen=timezone.now()):
                self._sign_in()  # a reaper took us for dead
        except DatabaseError:
            log.exception("could not sign in the database; trying again")
            connection.close()


def drain(queues: list[str], *, once: bool = False) -> int:
    """Run queued jobs in this thread until none is left (or one was run). Returns how many attempts ran."""
    ran = 0
    while not runner.stopping.is_set():
        if any(runner.run_next(queue) for queue in queues):
            ran += 1
            if once:
                break
        elif once or not Job.objects.filter(queue__in=queues, state=State.QUEUED).exists():
            break
        elif not any(fairness.claimable(queue).exists() for queue in queues):
            time.sleep(0.2)  # a job waits for its second try
    return ran
