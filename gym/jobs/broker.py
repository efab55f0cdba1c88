"""Wake-ups of workers, which poll the database or receive messages from dramatiq's Redis or RabbitMQ broker.

A message only names a queue; the job is chosen when a worker claims it. A lost message therefore only costs time (the
reaper sends another), and a duplicate costs one query of an empty queue.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from math import ceil
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import dramatiq
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError
from django.db import connection, transaction
from django_dramatiq.middleware import DbConnectionsMiddleware
from dramatiq import Broker, Message, MessageProxy
from dramatiq.broker import Consumer
from dramatiq.middleware import Middleware, Retries

from gym.jobs import conf, fairness

log = logging.getLogger(__name__)

ACTOR = "run_next"
"""Name of `gym.jobs.actors.run_next`."""
AFTER_ERROR_SECONDS = 1.0  # pause of a worker that cannot reach the database
UNCHANGED_SECONDS = (
    1.0  # poll interval while a SQLite database is unchanged: only the passing of time can make a job ready
)
REDIS_HEARTBEAT_MS = 300_000  # a worker can compute for over a minute without releasing the GIL


def make_broker(url: str) -> dramatiq.Broker:
    """Create the broker for GYM_BROKER_URL: "" or database://, redis(s)://…, amqp(s)://…. Raises
    ImproperlyConfigured."""
    scheme = urlsplit(url).scheme or url
    try:
        if scheme in ("", "database"):
            return DatabaseBroker(middleware=make_middleware())
        if scheme in ("redis", "rediss"):
            import redis
            from dramatiq.brokers.redis import RedisBroker

            return RedisBroker(
                client=redis.Redis.from_url(url, socket_timeout=10, socket_connect_timeout=3),
                middleware=make_middleware(),
                namespace=conf.get("GYM_BROKER_NAMESPACE"),
                heartbeat_timeout=REDIS_HEARTBEAT_MS,
            )
        if scheme in ("amqp", "amqps"):
            from dramatiq.brokers.rabbitmq import RabbitmqBroker

            if "blocked_connection_timeout" not in url:  # otherwise a full RabbitMQ blocks a request forever
                url += ("&" if "?" in url else "?") + "blocked_connection_timeout=30"
            return RabbitmqBroker(url=url, middleware=make_middleware(), confirm_delivery=True)
    except ImportError as error:
        raise ImproperlyConfigured(
            f"GYM_BROKER_URL needs a package that is not installed ({error.name}): "
            'pip install "lm-gym[scale]"'
        ) from error
    raise ImproperlyConfigured(
        f"GYM_BROKER_URL starts with {scheme!r}; use database://, redis://… or amqp://…"
    )


def make_middleware() -> list[Middleware]:
    """Return dramatiq's middleware with few retries for a wake-up and without a time limit: jobs have their own limits,
    and leases detect dead workers."""
    return [Retries(max_retries=3, min_backoff=1_000, max_backoff=30_000), DbConnectionsMiddleware()]


def needs_messages() -> bool:
    """Return True if workers need messages. Workers of the database broker poll instead."""
    return not isinstance(dramatiq.get_broker(), DatabaseBroker)


def wake(queue: str, *, delay: float = 0.0) -> None:
    """Send a wake-up for `queue` after the commit, if workers need one."""
    if not needs_messages():
        return
    message: dramatiq.Message[None] = dramatiq.Message(
        queue_name=queue, actor_name=ACTOR, args=(queue,), kwargs={}, options={}
    )
    broker = dramatiq.get_broker()

    def send() -> None:
        broker.enqueue(message, delay=ceil(delay * 1000) or None)

    # robust: an unreachable broker is logged and does not fail the request; the reaper sends the message later.
    transaction.on_commit(send, robust=True)


def ready_messages(queue: str) -> int:
    """Return the number of undelivered wake-ups, without delayed ones."""
    broker: Any = dramatiq.get_broker()
    if hasattr(broker, "get_queue_message_counts"):  # RabbitMQ
        broker.declare_queue(queue, ensure=True)
        return int(broker.get_queue_message_counts(queue)[0])
    return int(broker.client.llen(f"{broker.namespace}:{queue}"))


class DatabaseBroker(Broker):
    """A broker without messages: workers poll the site's database for queued jobs.

    An idle consumer polls every `conf.poll_seconds`. While there are claimable jobs and free threads, it generates
    wake-ups for dramatiq.
    """

    def __init__(self, middleware: list[Middleware] | None = None) -> None:
        super().__init__(middleware=middleware)
        self.queues: dict[str, None] = {}
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
        return DatabaseConsumer(self, queue_name, prefetch)


def data_version() -> int | None:
    """Return SQLite's data_version, which changes when another connection commits; None for other databases. It takes a
    tenth of the time of a query for jobs, so idle workers hardly use the CPU."""
    if connection.vendor != "sqlite":
        return None
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA data_version")
        return int(cursor.fetchone()[0])


class DatabaseConsumer(Consumer):
    """Consumer that polls a queue. `__next__` runs in a consumer thread, `ack` and `nack` in worker threads."""

    def __init__(self, broker: DatabaseBroker, queue_name: str, prefetch: int) -> None:
        self.broker = broker
        self.queue_name = queue_name
        self.prefetch = prefetch
        self._in_flight = 0
        self._lock = threading.Lock()
        self._thread_freed = threading.Event()
        self._empty_version: int | None = None
        self._empty_at = 0.0

    def __next__(self) -> MessageProxy | None:
        self._thread_freed.clear()
        if not self._has_work():
            self._thread_freed.wait(conf.poll_seconds(self.queue_name))  # ends early when a thread is free
            return None
        with self._lock:
            self._in_flight += 1
        wake_up = self.broker.get_actor(ACTOR).message(self.queue_name)
        return MessageProxy(wake_up.copy(queue_name=self.queue_name))

    def _has_work(self) -> bool:
        if self._in_flight >= self.prefetch or monotonic() < self.broker.look_again_at.get(
            self.queue_name, 0
        ):
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
        self._thread_freed.set()

    nack = ack

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Do nothing: the jobs are still queued."""
