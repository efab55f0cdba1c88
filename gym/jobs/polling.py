"""Polling of the job table by dramatiq's workers, whichever broker sends the wake-ups.

An idle worker looks for claimable jobs every `conf.poll_seconds`, and immediately when a job ends or a wake-up
arrives (`gym.jobs.listener`). So no job waits longer than that for an idle worker that may claim it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from time import monotonic
from typing import Any

from django.db import Error as DatabaseError
from django.db import connection
from dramatiq import Broker, Message, MessageProxy
from dramatiq.broker import Consumer
from dramatiq.middleware import Middleware

from gym.jobs import conf, fairness
from gym.jobs.lifecycle import may_claim

log = logging.getLogger(__name__)

ACTOR = "run_next"
"""Name of `gym.jobs.actors.run_next`."""
AFTER_ERROR_SECONDS = 1.0  # pause of a worker that cannot reach the database
UNCHANGED_SECONDS = (
    1.0  # poll interval while a SQLite database is unchanged: only the passing of time can make a job ready
)


class DatabaseBroker(Broker):
    """A dramatiq broker without messages: its consumers generate a wake-up while there are claimable jobs and free
    threads."""

    def __init__(self, middleware: list[Middleware] | None = None) -> None:
        super().__init__(middleware=middleware)
        self.queues: dict[str, None] = {}
        self.consumers: dict[str, DatabaseConsumer] = {}
        self.look_again_at: dict[str, float] = {}

    def declare_queue(self, queue_name: str) -> None:
        if queue_name not in self.queues:
            self.emit_before("declare_queue", queue_name)
            self.queues[queue_name] = None
            self.emit_after("declare_queue", queue_name)

    def enqueue(self, message: Message[Any], *, delay: int | None = None) -> Message[Any]:
        """Pause polling of the message's queue for `delay` milliseconds. dramatiq's Retries middleware calls
        this after a failed wake-up."""
        self.look_again_at[message.queue_name] = monotonic() + (delay or 0) / 1000
        return message

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> Consumer:
        consumer = self.consumers[queue_name] = DatabaseConsumer(self, queue_name, prefetch)
        return consumer


def data_version() -> int | None:
    """Return SQLite's data_version, which changes when another connection commits; None for other databases. It takes a
    tenth of the time of a query for jobs, so idle workers hardly use the CPU."""
    if connection.vendor != "sqlite":
        return None
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA data_version")
        return int(cursor.fetchone()[0])


class DatabaseConsumer(Consumer):
    """Consumer that polls a queue. `__next__` runs in a consumer thread, `ack` and `nack` in worker threads, the other
    methods in any thread.

    Attributes:
        is_broker_away: the queue's listener cannot receive messages.
    """

    def __init__(self, broker: DatabaseBroker, queue_name: str, prefetch: int) -> None:
        self.broker = broker
        self.queue_name = queue_name
        self.prefetch = prefetch
        self.is_broker_away = False
        self._in_flight = 0
        self._lock = threading.Lock()
        self._look = threading.Event()
        self._empty_version: int | None = None
        self._empty_at = 0.0

    @property
    def has_free_thread(self) -> bool:
        """Return True if this worker could run another job of the queue now. Queues of one broker share its threads."""
        used = sum(consumer._in_flight for consumer in list(self.broker.consumers.values()))
        return used < self.prefetch and may_claim(self.queue_name)

    def look_now(self) -> None:
        """Poll now instead of after the current pause."""
        self._look.set()

    def __next__(self) -> MessageProxy | None:
        self._look.clear()
        if not self._has_work():
            self._look.wait(conf.poll_seconds(self.queue_name, is_broker_away=self.is_broker_away))
            return None
        with self._lock:
            self._in_flight += 1
        wake_up = self.broker.get_actor(ACTOR).message(self.queue_name)
        return MessageProxy(wake_up.copy(queue_name=self.queue_name))

    def _has_work(self) -> bool:
        # Not has_free_thread: a queue whose job waits here for a thread gets the next one, so queues take turns.
        is_full = self._in_flight >= self.prefetch or not may_claim(self.queue_name)
        if is_full or monotonic() < self.broker.look_again_at.get(self.queue_name, 0):
            return False
        try:
            version = data_version()
            is_recent = monotonic() - self._empty_at < UNCHANGED_SECONDS
            if is_recent and version is not None and version == self._empty_version:
                return False
            if fairness.claimable(self.queue_name).exists():
                return True
            self._empty_version, self._empty_at = version, monotonic()
            return False
        except DatabaseError as error:  # if raised, dramatiq would pause for three seconds
            log.warning("cannot poll the queue %s for jobs: %s", self.queue_name, error)
            self.broker.look_again_at[self.queue_name] = monotonic() + AFTER_ERROR_SECONDS
            connection.close()  # so that the next try opens a new connection
            return False

    def ack(self, message: MessageProxy) -> None:
        with self._lock:
            self._in_flight = max(
                0, self._in_flight - 1
            )  # dramatiq may have replaced the consumer of the message
        self.look_now()

    nack = ack

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Do nothing: the jobs are still queued."""
