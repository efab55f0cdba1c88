import builtins
import socket
import time

import dramatiq
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from dramatiq.brokers.stub import StubBroker

from gym.jobs import broker as own
from gym.jobs.broker import DatabaseBroker, make_broker, wake
from gym.jobs.models import Job
from gym.jobs.services import enqueue


@pytest.mark.parametrize("url", ["", "database://", "database"])
def test_the_own_broker_is_the_default(url):
    assert isinstance(make_broker(url), DatabaseBroker)


def test_a_rabbitmq_broker_waits_for_confirmation_but_not_for_ever():
    broker = make_broker("amqp://guest:guest@127.0.0.1:1/?heartbeat=20&stack_timeout=9")
    assert type(broker).__name__ == "RabbitmqBroker"
    assert broker.confirm_delivery is True
    assert (broker.parameters.heartbeat, broker.parameters.blocked_connection_timeout) == (20, 3)
    assert (broker.parameters.socket_timeout, broker.parameters.stack_timeout) == (3, 9)


@pytest.fixture
def silent_server():
    """Port of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_broker_that_does_not_answer_is_given_up(silent_server, scheme, monkeypatch):
    monkeypatch.setitem(own.REDIS_SECONDS, "socket_timeout", 0.2)
    monkeypatch.setitem(own.RABBITMQ_SECONDS, "stack_timeout", 0.2)
    broker = make_broker(f"{scheme}://127.0.0.1:{silent_server}/")
    monkeypatch.setattr(dramatiq.broker, "global_broker", broker)
    before = time.monotonic()
    assert "imeout" in own.broker_problem()
    assert time.monotonic() - before < 3


@pytest.mark.parametrize("url", ["", "redis://127.0.0.1:1/0", "amqp://127.0.0.1:1/"])
def test_every_broker_has_few_retries_and_no_time_limit(url):
    names = {type(middleware).__name__: middleware for middleware in make_broker(url).middleware}
    assert set(names) == {"Retries", "DbConnectionsMiddleware"}
    assert names["Retries"].max_retries == 3


def test_an_unknown_scheme_is_explained():
    with pytest.raises(ImproperlyConfigured, match="starts with 'kafka'; use database://"):
        make_broker("kafka://x")


def test_a_missing_package_is_explained(monkeypatch):
    real = builtins.__import__

    def without_redis(name, *args, **options):
        if name == "dramatiq.brokers.redis":
            raise ImportError("No module named 'redis'", name="redis")
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without_redis)
    with pytest.raises(ImproperlyConfigured, match=r"redis.*lm-gym\[scale\]"):
        make_broker("redis://127.0.0.1/")


@pytest.fixture
def foreign_broker(monkeypatch):
    """A broker other than the database broker."""
    broker = StubBroker(middleware=[])
    broker.declare_queue("default")
    monkeypatch.setattr(dramatiq.broker, "global_broker", broker)
    monkeypatch.setattr(own, "_no_messages_until", 0.0)
    return broker


@pytest.mark.django_db
def test_a_foreign_broker_gets_the_message_after_the_commit(
    foreign_broker, register, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        enqueue(register("k"), {})
        assert foreign_broker.queues["default"].qsize() == 0
    assert foreign_broker.queues["default"].qsize() == 1


@pytest.mark.django_db(transaction=True)
def test_an_unreachable_broker_does_not_fail_the_request(foreign_broker, register, monkeypatch, caplog):
    tried = []

    def fail(message, delay=None):
        tried.append(message)
        raise ConnectionError("no broker")

    monkeypatch.setattr(foreign_broker, "enqueue", fail)
    kind = register("k")
    with transaction.atomic():
        for _ in range(3):
            enqueue(kind, {})
    enqueue(kind, {})
    assert {job.state for job in Job.objects.all()} == {"queued"}
    assert len(tried) == 1, "the others must not wait for it"
    assert caplog.text.count("no broker") == 1
    assert "Traceback" not in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_wakeup_names_its_queue(foreign_broker):
    foreign_broker.declare_queue("gpu")
    wake("gpu")
    assert foreign_broker.queues["gpu"].qsize() == 1
