"""The handler's context: payload, progress, log, and transactions that only the live attempt can commit."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, TypeVar

from django.db import transaction
from django.utils import timezone

from gym.jobs import conf, fairness, lifecycle, states, text
from gym.jobs.errors import Cancelled, LostLease, OutOfTime, Preempted, WorkerStopping
from gym.jobs.kinds import time_limit
from gym.jobs.models import Job

CHECK_SECONDS = 1.0  # shortest interval of database queries in `check`
WRITE_SECONDS = 1.5  # interval between writes of progress
WRITE_SHARE = 0.05  # progress is also written when it has grown by this share of the total
RATE_SECONDS = 30.0  # window of the measured rate
CLOSING_SECONDS = 60.0  # an attempt is not interrupted before this for a worker that should be replaced
CHECK_WAIT_SECONDS = 0.1  # interval of checks in `run_cancellable`

T = TypeVar("T")


class JobContext:
    """An attempt at a job. All writes are fenced by the attempt number."""

    def __init__(self, job: Job, *, stopping: threading.Event | None = None) -> None:
        self.job_id = job.pk
        self.kind: str = job.kind
        self.attempt: int = job.attempt
        self.payload: dict[str, Any] = job.payload
        self.owner_id: int | None = job.owner_id
        self.queue: str = job.queue
        self.seconds = time_limit(job.kind)
        self._until = monotonic() + self.seconds
        self._turn_until = monotonic() + float(conf.get("GYM_JOB_TURN_SECONDS"))
        self._stays_until = monotonic() + CLOSING_SECONDS
        self._has_progress = False
        self.finished = False
        self._lost = threading.Event()
        self._cancelled = threading.Event()
        self._stopping = stopping or threading.Event()
        self._checked_at = monotonic()
        self._progress: dict[str, Any] = {"done": job.done, "total": job.total, "unit": job.unit}
        self._written_at = float("-inf")
        self._written_done = job.done
        self._samples: deque[tuple[float, int]] = deque()

    # --- continue or stop ---

    def check(self) -> None:
        """Raise Cancelled, LostLease, OutOfTime or WorkerStopping if the handler should stop. Cheap enough to call
        often."""
        if self.finished:
            return
        if monotonic() - self._checked_at >= CHECK_SECONDS:
            self.refresh()
        if self._lost.is_set():
            raise LostLease
        if self._cancelled.is_set():
            raise Cancelled
        if self.is_out_of_time:
            raise OutOfTime(self.seconds)
        if self._stopping.is_set():
            raise WorkerStopping

    def yield_turn(self) -> None:
        """Call `check`, and raise Preempted if the attempt has run for GYM_JOB_TURN_SECONDS and other users'
        jobs wait for this worker. For handlers that can resume later.

        Raises WorkerStopping if this process should be replaced or leaves the queue to newer workers. The attempt must
        have stored progress and have run for CLOSING_SECONDS: with a memory limit below the size of its model, jobs
        still come to their end, and most of the time is not spent on loading the model."""
        self.check()
        if self.finished:
            return
        is_leaving = self._has_progress and not lifecycle.may_claim(self.queue)
        if is_leaving and monotonic() >= self._stays_until:
            raise WorkerStopping
        if monotonic() < self._turn_until:
            return
        self._turn_until = monotonic() + CHECK_SECONDS
        if fairness.pressing(fairness.claimable(self.queue)).exclude(owner_id=self.owner_id).exists():
            raise Preempted

    @property
    def is_out_of_time(self) -> bool:
        """True if this attempt has exceeded its time limit."""
        return monotonic() >= self._until

    def run_cancellable(self, function: Callable[[], T]) -> T:
        """Run a blocking call in a thread, polling `check`. If the handler should stop, the call is abandoned, so it
        must have its own deadline and write nothing."""
        results: SimpleQueue[tuple[T | None, Exception | None]] = SimpleQueue()

        def work() -> None:
            try:
                results.put((function(), None))
            except Exception as error:  # noqa: BLE001  raised again in the handler's thread
                results.put((None, error))

        threading.Thread(target=work, daemon=True).start()
        while True:
            self.check()
            try:
                result, error = results.get(timeout=CHECK_WAIT_SECONDS)
            except Empty:
                continue
            if error is not None:
                raise error
            return result  # type: ignore[return-value]  # the function's return value, which may be None

    def lose(self) -> None:
        """Mark the attempt as lost; the next `check` raises LostLease."""
        self._lost.set()

    def refresh(self) -> None:
        """Query the database and note if the attempt has been lost or cancelled."""
        self._checked_at = monotonic()
        row = states.fenced(self.job_id, self.attempt).values_list("cancel_requested", flat=True).first()
        if row is None:
            self._lost.set()
        elif row:
            self._cancelled.set()

    def beat(self) -> None:
        """Extend the lease, and note if the attempt has been lost or cancelled."""
        if states.renew(self.job_id, self.attempt):
            self.refresh()
        else:
            self._lost.set()

    def _renew(self, **changes: Any) -> None:
        if self._lost.is_set() or not states.renew(self.job_id, self.attempt, **changes):
            self._lost.set()
            raise LostLease

    # --- reporting ---

    def progress(self, done: int, total: int | None = None, unit: str = "") -> None:
        """Report progress. It is written to the database every 1.5 s or 5% of the total, so this can be called for
        every item. Raises LostLease if the attempt is found to be lost when it is written."""
        self._progress["done"] = done
        if total is not None:
            self._progress["total"] = total
        if unit:
            self._progress["unit"] = unit
        now = monotonic()
        self._sample(now, done)
        step = max(1.0, WRITE_SHARE * self._progress["total"])
        if now - self._written_at >= WRITE_SECONDS or (
            self._progress["total"] and abs(done - self._written_done) >= step
        ):
            self._written_at, self._written_done = now, done
            self._renew(**self._progress, rate=self._rate(), progress_at=timezone.now())

    def _sample(self, now: float, done: int) -> None:
        if self._samples and done < self._samples[-1][1]:
            self._samples.clear()  # a new phase began
        self._samples.append((now, done))
        while len(self._samples) > 2 and now - self._samples[0][0] > RATE_SECONDS:
            self._samples.popleft()

    def _rate(self) -> float:
        (first, done_then), (last, done_now) = self._samples[0], self._samples[-1]
        return (done_now - done_then) / (last - first) if last - first > 0.05 else 0.0

    def log(self, entry: str) -> None:
        """Append to the job's log, which the job's owner can read."""
        states.append_log(states.fenced(self.job_id, self.attempt), text.clean(entry, text.MAX_ENTRY))

    # --- writing results ---

    @contextmanager
    def transaction(self, *, brings_forward: bool = False) -> Iterator[None]:
        """Open an atomic block that commits only while the attempt is live. Compute before, write inside.

        The first statement renews the lease and locks the job's row, so that no other worker can take over before the
        block ends. Raises LostLease before anything is written if the attempt is no longer live.

        `brings_forward`: the block is progress that no later attempt has to repeat. It resets `tries` and `deaths` to
        0, so that a long job can lose any number of workers as long as each of them made progress.
        """
        with transaction.atomic():
            self._renew(**({"tries": 0, "deaths": 0} if brings_forward else {}))
            yield
        self._has_progress |= brings_forward

    @contextmanager
    def finish(self) -> Iterator[None]:
        """Open the last transaction, which also sets the state `done`. Call it once. Raises LostLease."""
        if self.finished:
            raise RuntimeError("finish() was already called for this job")
        with self.transaction():
            yield
            if not states.complete(self.job_id, self.attempt, **self._final_progress()):
                raise LostLease
        self.finished = True

    def _final_progress(self) -> dict[str, Any]:
        total = self._progress["total"]
        return {**self._progress, "done": total or self._progress["done"]}
