"""How a worker is woken up: it looks for queued jobs itself, or gets messages by dramatiq's Redis and RabbitMQ brokers.

A message names a queue and says "there is work". Which job is run is decided when a worker claims one, so a
lost message costs time (the reaper sends another), and a doubled one costs a look into an empty queue.
"""

from __future__ import annotations

import logging
from math import ceil
from typing import Any
from urllib.parse import urlsplit

import dramatiq
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django_dramatiq.middleware import DbConnectionsMiddleware
from dramatiq.middleware import Middleware, Retries

from gym.jobs import conf
from gym.jobs.database_broker import DatabaseBroker

log = logging.getLogger(__name__)

ACTOR = "run_next"
"""The one actor, gym.jobs.actors.run_next."""
REDIS_HEARTBEAT_MS = 300_000  # a worker that computes without releasing the GIL is not dead after a minute


def make_broker(url: str) -> dramatiq.Broker:
    """The broker for GYM_BROKER_URL: "" or database://, redis(s)://…, amqp(s)://…"""
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

            if "blocked_connection_timeout" not in url:  # else a full RabbitMQ would block a request for ever
                url += ("&" if "?" in url else "?") + "blocked_connection_timeout=30"
            return RabbitmqBroker(url=url, middleware=make_middleware(), confirm_delivery=True)
    except ImportError as error:
        raise ImproperlyConfigured(
            f"GYM_BROKER_URL needs a package that is not installed ({error.name}): "
            "pip install -r requirements-scale.txt"
        ) from error
    raise ImproperlyConfigured(
        f"GYM_BROKER_URL starts with {scheme!r}; use database://, redis://… or amqp://…"
    )


def make_middleware() -> list[Middleware]:
    """No time limit (a suite may take hours; leases find dead workers), few retries of the wake-up itself."""
    return [Retries(max_retries=3, min_backoff=1_000, max_backoff=30_000), DbConnectionsMiddleware()]


def needs_messages() -> bool:
    """Whether workers learn of queued jobs by messages. Those of the database broker look for them."""
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

    # robust: an unreachable broker is logged and must not fail the request; the reaper sends again.
    transaction.on_commit(send, robust=True)


def ready_messages(queue: str) -> int:
    """How many wake-ups lie ready for a worker, not counting the ones that are being handled or delayed."""
    broker: Any = dramatiq.get_broker()
    if hasattr(broker, "get_queue_message_counts"):  # RabbitMQ
        broker.declare_queue(queue, ensure=True)
        return broker.get_queue_message_counts(queue)[0]
    return broker.client.llen(f"{broker.namespace}:{queue}")
