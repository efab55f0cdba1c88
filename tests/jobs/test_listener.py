"""A message makes a worker poll at once. Without a broker, workers keep polling."""

from __future__ import annotations

import time

import dramatiq
import pytest
from dramatiq.brokers.stub import StubBroker

from gym.jobs import actors, listener
from gym.jobs.listener import Listener
from gym.jobs.polling import ACTOR


@pytest.fixture
def polling():
    broker = actors.polling_broker()
    broker.consume("default")
    return broker


@pytest.fixture
def messages():
    broker = StubBroker(middleware=[])
    broker.declare_queue("default")
    return broker


@pytest.fixture
def start(messages, polling, monkeypatch):
    monkeypatch.setattr(listener, "RECONNECT_SECONDS", 0.01)
    started = []

    def start() -> Listener:
        thread = Listener(messages, polling, "default", is_quick=True)
        thread.start()
        started.append(thread)
        return thread

    yield start
    for thread in started:
        thread.stop()
        thread.join(5)
        assert not thread.is_alive()


def send(messages):
    messages.enqueue(
        dramatiq.Message(queue_name="default", actor_name=ACTOR, args=("default",), kwargs={}, options={})
    )


def until(happened):
    end = time.monotonic() + 20
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_message_ends_the_pause(messages, polling, start):
    start()
    assert not polling.consumers["default"]._look.is_set()
    send(messages)
    assert polling.consumers["default"]._look.wait(20)
    until(lambda: messages.queues["default"].unfinished_tasks == 0)


def test_a_busy_worker_leaves_messages_to_others(messages, polling, start):
    polling.consumers["default"]._in_flight = 1
    send(messages)
    start()
    time.sleep(0.3)
    assert messages.queues["default"].qsize() == 1
    polling.consumers["default"]._in_flight = 0
    until(lambda: messages.queues["default"].qsize() == 0)


def test_a_worker_whose_thread_runs_a_job_of_another_queue_leaves_messages_to_others(
    messages, polling, start
):
    polling.consume("large")
    polling.consumers["large"]._in_flight = 1
    send(messages)
    start()
    time.sleep(0.3)
    assert messages.queues["default"].qsize() == 1
    polling.consumers["large"]._in_flight = 0
    until(lambda: messages.queues["default"].qsize() == 0)


def test_a_broker_that_is_away_is_logged_once_and_used_again(messages, polling, start, monkeypatch, caplog):
    failures = []

    def fail(*arguments, **options):
        failures.append(1)
        raise ConnectionError("connection refused")

    with monkeypatch.context() as away:
        away.setattr(messages, "consume", fail)
        thread = start()
        until(lambda: len(failures) > 5)
        assert thread.problem == "connection refused"
        assert polling.consumers["default"].is_broker_away
    until(lambda: thread.problem == "")
    assert not polling.consumers["default"].is_broker_away
    warnings = [record.message for record in caplog.records]
    assert warnings == [
        "no messages for queue default; polling only: connection refused",
        "messages for queue default arrive again",
    ]
