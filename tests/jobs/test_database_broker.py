import dramatiq
import pytest
from dramatiq.errors import ConnectionClosed

from gym.jobs import database_broker
from gym.jobs.actors import run_next
from gym.jobs.database_broker import MAX_DELIVERIES, DatabaseBroker
from gym.jobs.models import Message

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_waiting(settings):
    settings.GYM_JOB_POLL_SECONDS = 0


@pytest.fixture
def broker():
    return DatabaseBroker(middleware=[])


def other_worker():
    return DatabaseBroker(middleware=[]).consume("default")


def test_a_message_comes_out_as_it_went_in(broker):
    sent = broker.enqueue(run_next.message("default"))
    assert next(broker.consume("default"))._message == sent


def test_an_acknowledged_message_is_gone(broker):
    broker.enqueue(run_next.message("default"))
    consumer = broker.consume("default")
    consumer.ack(next(consumer))
    assert not Message.objects.exists()


def test_a_claimed_message_is_invisible_to_others(broker):
    broker.enqueue(run_next.message("default"))
    assert next(broker.consume("default")) is not None
    assert next(other_worker()) is None
    assert broker.ready_messages("default") == 0


def test_messages_of_another_queue_are_left_alone(broker):
    broker.enqueue(run_next.message("default").copy(queue_name="gpu"))
    assert next(broker.consume("default")) is None
    assert next(broker.consume("gpu")) is not None


def test_a_consumer_holds_no_more_than_it_may(broker):
    for _ in range(2):
        broker.enqueue(run_next.message("default"))
    consumer = broker.consume("default", prefetch=1)
    first = next(consumer)
    assert next(consumer) is None
    consumer.ack(first)
    assert next(consumer) is not None


def test_a_delayed_message_comes_later(broker, clock):
    broker.enqueue(run_next.message("default"), delay=5_000)
    assert next(broker.consume("default")) is None
    assert broker.ready_messages("default") == 0
    clock.forward(6)
    assert next(broker.consume("default")) is not None


def test_a_message_of_a_dead_worker_comes_back(broker, clock):
    broker.enqueue(run_next.message("default"))
    lost = next(broker.consume("default"))
    clock.forward(61)
    again = next(other_worker())
    assert again._message == lost._message


def test_a_worker_that_beats_keeps_its_message(broker, clock, monkeypatch):
    broker.enqueue(run_next.message("default"))
    consumer = broker.consume("default", prefetch=1)
    next(consumer)
    for _ in range(3):
        clock.forward(50)
        consumer._next_beat = 0
        next(consumer)
        assert next(other_worker()) is None


def test_a_late_acknowledgement_does_not_remove_what_another_worker_has(broker, clock):
    broker.enqueue(run_next.message("default"))
    consumer = broker.consume("default")
    late = next(consumer)
    clock.forward(61)
    next(other_worker())
    consumer.ack(late)
    assert Message.objects.count() == 1


def test_a_rejected_message_is_put_aside(broker):
    broker.enqueue(run_next.message("default"))
    consumer = broker.consume("default")
    consumer.nack(next(consumer))
    assert Message.objects.get().dead_at is not None
    assert next(other_worker()) is None


def test_a_message_that_keeps_coming_back_is_put_aside(broker, clock):
    broker.enqueue(run_next.message("default"))
    for _ in range(MAX_DELIVERIES):
        assert next(other_worker()) is not None
        clock.forward(61)
    assert next(other_worker()) is None
    assert Message.objects.get().dead_at is not None


def test_a_requeued_message_is_there_at_once_and_the_delivery_does_not_count(broker):
    broker.enqueue(run_next.message("default"))
    consumer = broker.consume("default")
    consumer.requeue([next(consumer)])
    assert Message.objects.get().deliveries == 0
    assert next(other_worker()) is not None


def test_a_database_failure_looks_like_a_lost_connection_to_dramatiq(broker, monkeypatch):
    consumer = broker.consume("default")

    def fail():
        raise database_broker.DatabaseError("gone")

    monkeypatch.setattr(consumer, "_claim", fail)
    monkeypatch.setattr(database_broker.connection, "close", lambda: None)
    with pytest.raises(ConnectionClosed, match="gone"):
        next(consumer)


def test_flushing_drops_the_messages_of_one_queue(broker):
    broker.declare_queue("default")
    broker.enqueue(run_next.message("default"))
    broker.enqueue(run_next.message("default").copy(queue_name="gpu"))
    broker.flush_all()
    assert [message.queue for message in Message.objects.all()] == ["gpu"]


def test_an_actor_sends_through_it(broker):
    dramatiq.get_broker()
    run_next.send("default")
    assert Message.objects.count() == 1
