"""A dramatiq broker without messages: queued jobs are rows of the site's own database, and its workers look for them.

A job can be claimed from the commit that queued it. An idle consumer looks every GYM_JOB_POLL_SECONDS. While jobs can
be claimed and threads are free, it gives dramatiq wake-ups.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from time import monotonic

from django.db import Error as DatabaseError
from django.db import connection
from dramatiq import Broker, Message, MessageProxy
from dramatiq.broker import Consumer
from dramatiq.errors import ConnectionClosed
from dramatiq.middleware import Middleware

from gym.jobs import conf, fairness


class DatabaseBroker(Broker):
    def __init__(self, middleware: list[Middleware] | None = None) -> None:
        super().__init__(middleware=middleware)
        self.queues: dict[str, None] = {}
        self.look_again_at: dict[str, float] = {}

    def declare_queue(self, queue_name: str) -> None:
        if queue_name not in self.queues:
            self.emit_before("declare_queue", queue_name)
            self.queues[queue_name] = None
            self.emit_after("declare_queue", queue_name)

    def enqueue(self, message: Message, *, delay: int | None = None) -> Message:
        """Dramatiq's middleware sends a wake-up again after it failed: the job, if it is still queued, is found again,
        but not before `delay` milliseconds."""
        self.look_again_at[message.queue_name] = monotonic() + (delay or 0) / 1000
        return message

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> Consumer:
        return DatabaseConsumer(self, queue_name, prefetch)


class DatabaseConsumer(Consumer):
    """Looks into one queue. `__next__` runs in a consumer thread, `ack` and `nack` in worker threads."""

    def __init__(self, broker: DatabaseBroker, queue_name: str, prefetch: int) -> None:
        self.broker = broker
        self.queue_name = queue_name
        self.prefetch = prefetch
        self._given = 0
        self._lock = threading.Lock()
        self._returned = threading.Event()

    def __next__(self) -> MessageProxy | None:
        self._returned.clear()
        if not self._has_work():
            self._returned.wait(conf.poll_seconds(self.queue_name))  # ends early when a thread is free
            return None
        with self._lock:
            self._given += 1
        wake_up = self.broker.get_actor("run_next").message(self.queue_name)
        return MessageProxy(wake_up.copy(queue_name=self.queue_name))

    def _has_work(self) -> bool:
        if self._given >= self.prefetch or monotonic() < self.broker.look_again_at.get(self.queue_name, 0):
            return False
        try:
            return fairness.claimable(self.queue_name).exists()
        except DatabaseError as error:
            connection.close()  # so that the next try opens a fresh one
            raise ConnectionClosed(error) from error

    def ack(self, message: MessageProxy) -> None:
        with self._lock:
            self._given = max(0, self._given - 1)  # dramatiq may have replaced the consumer that gave it
        self._returned.set()

    nack = ack

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Nothing to do: the jobs are still queued."""
