"""Worker threads that receive messages from Redis or RabbitMQ and trigger an immediate poll of the job table."""

from __future__ import annotations

import logging
import threading
from time import monotonic

import dramatiq
from dramatiq.broker import Consumer

from gym.jobs.broker import describe
from gym.jobs.polling import DatabaseBroker, DatabaseConsumer

log = logging.getLogger(__name__)

MESSAGE_MS = 250
"""Maximum time in milliseconds between two requests of an idle Redis consumer."""
QUICK_MESSAGE_MS = 50
"""MESSAGE_MS of quick queues."""
BUSY_SECONDS = 0.1
RECONNECT_SECONDS = 3.0
LOG_AGAIN_SECONDS = 300.0


class Listener(threading.Thread):
    """Receives the messages of one queue while this worker has a free thread for it; other workers receive them
    while it has none.

    Attributes:
        problem: why messages cannot be received; "" if they can.
    """

    def __init__(
        self, broker: dramatiq.Broker, polling: DatabaseBroker, queue: str, *, is_quick: bool
    ) -> None:
        super().__init__(name=f"listener-{queue}", daemon=True)
        self.broker = broker
        self.polling = polling
        self.queue = queue
        self.timeout = QUICK_MESSAGE_MS if is_quick else MESSAGE_MS
        self.problem = ""
        self.over = threading.Event()
        self._logged_at = 0.0

    def run(self) -> None:
        while not self.over.is_set():
            poller = self.polling.consumers.get(self.queue)
            if poller is None or not poller.has_free_thread:
                self.over.wait(BUSY_SECONDS)
                continue
            try:
                consumer = self.broker.consume(self.queue, prefetch=1, timeout=self.timeout)
                try:
                    self._receive(consumer, poller)
                finally:
                    consumer.close()
            except Exception as error:  # noqa: BLE001  the errors of redis, pika and dramatiq have no common base class
                self._note(describe(error))
                self.over.wait(RECONNECT_SECONDS)

    def _receive(self, consumer: Consumer, poller: DatabaseConsumer) -> None:
        """Receive messages until no thread is free. RabbitMQ gives the messages of a closed consumer to others."""
        while poller.has_free_thread and not self.over.is_set():
            message = next(consumer)
            self._note("")
            if message is not None:
                poller.look_now()
                consumer.ack(message)
                self.over.wait(BUSY_SECONDS)  # the job that it announced may occupy the thread

    def _note(self, problem: str) -> None:
        """Store the problem. Log it when it begins, every LOG_AGAIN_SECONDS, and when it ends."""
        if problem and (not self.problem or monotonic() - self._logged_at > LOG_AGAIN_SECONDS):
            log.warning("no messages for queue %s; polling only: %s", self.queue, problem)
            self._logged_at = monotonic()
        elif self.problem and not problem:
            log.warning("messages for queue %s arrive again", self.queue)
        if (poller := self.polling.consumers.get(self.queue)) is not None:
            poller.is_broker_away = bool(problem)
        self.problem = problem

    def stop(self) -> None:
        self.over.set()
