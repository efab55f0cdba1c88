"""Messages that wake workers, sent through dramatiq's Redis or RabbitMQ broker.

A message only names a queue. Workers poll the job table anyway (`gym.jobs.polling`), so a lost message or a broker that
is away delays a job by `GYM_JOB_MESSAGE_POLL_SECONDS` at most, and a duplicate costs one query.
"""

from __future__ import annotations

import logging
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

import dramatiq
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django_dramatiq.middleware import DbConnectionsMiddleware
from dramatiq.middleware import Middleware, Retries

from gym.jobs import conf
from gym.jobs.polling import ACTOR, DatabaseBroker

log = logging.getLogger(__name__)

REDIS_SECONDS = {"socket_timeout": 3, "socket_connect_timeout": 3}
RABBITMQ_SECONDS = {"socket_timeout": 3, "stack_timeout": 5, "blocked_connection_timeout": 3}
"""Time limits for connecting, for the handshake, and for a RabbitMQ that is out of memory or disk space: requests wait
for the message that they send. Parameters of the URL take precedence."""
PAUSE_SECONDS = 30.0
"""Time without messages after one could not be sent, so that requests do not wait for a broker that is away."""
_no_messages_until = 0.0


def make_broker(url: str) -> dramatiq.Broker:
    """Create the broker for GYM_BROKER_URL: "" or database://, redis(s)://…, amqp(s)://…. Raises
    ImproperlyConfigured."""
    scheme = urlsplit(url).scheme or url
    try:
        if not conf.sends_messages(url):
            return DatabaseBroker(middleware=make_middleware())
        if scheme in ("redis", "rediss"):
            import redis
            from dramatiq.brokers.redis import RedisBroker

            return RedisBroker(
                client=redis.Redis.from_url(url, **REDIS_SECONDS),
                middleware=make_middleware(),
                namespace=conf.get("GYM_BROKER_NAMESPACE"),
            )
        if scheme in ("amqp", "amqps"):
            from dramatiq.brokers.rabbitmq import RabbitmqBroker

            for name, seconds in RABBITMQ_SECONDS.items():
                if name not in parse_qs(urlsplit(url).query):
                    url += ("&" if "?" in url else "?") + f"{name}={seconds}"
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


def wake(queue: str) -> None:
    """Send a wake-up for `queue` after the commit, if the site has a broker for messages."""
    broker = dramatiq.get_broker()
    if isinstance(broker, DatabaseBroker):
        return
    message: dramatiq.Message[None] = dramatiq.Message(
        queue_name=queue, actor_name=ACTOR, args=(queue,), kwargs={}, options={}
    )
    transaction.on_commit(lambda: _send(broker, message))


def _send(broker: dramatiq.Broker, message: dramatiq.Message[None]) -> None:
    """Send a message. If the broker cannot be reached, workers find the job when they poll. The pause is checked here,
    because one commit can send many messages."""
    global _no_messages_until
    if monotonic() < _no_messages_until:
        return
    try:
        broker.enqueue(message)
    except Exception as error:  # noqa: BLE001  the errors of redis, pika and dramatiq have no common base class
        _no_messages_until = monotonic() + PAUSE_SECONDS
        log.warning("no wake-up was sent to queue %s: %s", message.queue_name, describe(error))


def describe(error: BaseException) -> str:
    """Describe an error of a broker in one line. dramatiq wraps those of the network."""
    cause = error.args[0] if error.args and isinstance(error.args[0], BaseException) else error
    return " ".join(str(cause).split())[:200] or type(cause).__name__


def broker_problem() -> str:
    """Connect to the broker. Return why that fails; "" if it succeeds or the site has no broker."""
    broker: Any = dramatiq.get_broker()
    if isinstance(broker, DatabaseBroker):
        return ""
    try:
        if hasattr(broker, "client"):
            broker.client.ping()
        else:
            import pika  # type: ignore[import-untyped]

            pika.BlockingConnection(broker.parameters).close()
    except Exception as error:  # noqa: BLE001  the errors of redis, pika and dramatiq have no common base class
        return describe(error)
    return ""


def eviction_policy() -> str:
    """Return the policy by which Redis drops keys when its memory is full; "" if unknown or not Redis."""
    client = getattr(dramatiq.get_broker(), "client", None)
    if client is None:
        return ""
    from redis import RedisError

    try:
        return str(client.config_get("maxmemory-policy").get("maxmemory-policy", ""))
    except RedisError:  # hosted servers do not permit CONFIG
        return ""
