"""A dramatiq broker whose messages are rows of the site's own database.

Enqueueing is an INSERT in the caller's transaction: rolled back, it leaves no message. A claimed message is
invisible until `available_at`, which the consumer's heartbeat keeps pushing ahead; a worker that dies stops
doing so and the message comes back. After MAX_DELIVERIES it is put aside as dead.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable
from datetime import timedelta
from time import monotonic
from typing import Any

from django.db import Error as DatabaseError
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone
from dramatiq import Broker, Message, MessageProxy
from dramatiq.broker import Consumer
from dramatiq.errors import ConnectionClosed
from dramatiq.middleware import Middleware

from gym.jobs import conf, models

MAX_DELIVERIES = 5


class DatabaseBroker(Broker):
    def __init__(self, middleware: list[Middleware] | None = None) -> None:
        super().__init__(middleware=middleware)
        self.id = uuid.uuid4().hex
        self.queues: dict[str, None] = {}

    def declare_queue(self, queue_name: str) -> None:
        if queue_name not in self.queues:
            self.emit_before("declare_queue", queue_name)
            self.queues[queue_name] = None
            self.emit_after("declare_queue", queue_name)

    def enqueue(self, message: Message, *, delay: int | None = None) -> Message:
        self.emit_before("enqueue", message, delay)
        models.Message.objects.create(
            queue=message.queue_name,
            body=message.encode().decode("utf-8"),
            available_at=timezone.now() + timedelta(milliseconds=delay or 0),
        )
        self.emit_after("enqueue", message, delay)
        return message

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> Consumer:
        return DatabaseConsumer(self, queue_name, prefetch)

    def flush(self, queue_name: str) -> None:
        models.Message.objects.filter(queue=queue_name).delete()

    def flush_all(self) -> None:
        for queue_name in self.queues:
            self.flush(queue_name)

    def ready_messages(self, queue_name: str) -> int:
        return models.Message.objects.filter(
            queue=queue_name, dead_at=None, claimed_by="", available_at__lte=timezone.now()
        ).count()


class RowMessage(MessageProxy):
    """A message and the row it came from."""

    def __init__(self, message: Message, row_id: int) -> None:
        super().__init__(message)
        self.row_id = row_id


class DatabaseConsumer(Consumer):
    """Claims rows for one queue. `__next__` runs in a consumer thread, `ack` and `nack` in worker threads."""

    def __init__(self, broker: DatabaseBroker, queue_name: str, prefetch: int) -> None:
        self.broker = broker
        self.queue_name = queue_name
        self.prefetch = prefetch
        self._held: set[int] = set()
        self._lock = threading.Lock()
        self._room = threading.Event()
        self._next_beat = monotonic() + self._beat_seconds()

    @staticmethod
    def _beat_seconds() -> float:
        return conf.lease_seconds() / 3

    def __next__(self) -> RowMessage | None:
        try:
            self._beat()
            self._room.clear()
            message = self._claim() if len(self._held) < self.prefetch else None
        except DatabaseError as error:
            connection.close()  # so that the next try opens a fresh one
            raise ConnectionClosed(error) from error
        if message is None:
            self._room.wait(conf.poll_seconds(self.queue_name))  # ends early when a message is done
        return message

    def ack(self, message: MessageProxy) -> None:
        self._settle(message).delete()

    def nack(self, message: MessageProxy) -> None:
        self._settle(message).update(dead_at=timezone.now(), claimed_by="")

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        for message in messages:
            self._settle(message).update(
                available_at=timezone.now(), claimed_by="", deliveries=F("deliveries") - 1
            )

    def _settle(self, message: Any) -> Any:
        """Stop the heartbeat of a message and select its row, if it is still ours."""
        with self._lock:
            self._held.discard(message.row_id)
        self._room.set()
        return models.Message.objects.filter(pk=message.row_id, claimed_by=self.broker.id)

    def _beat(self) -> None:
        if monotonic() < self._next_beat:
            return
        self._next_beat = monotonic() + self._beat_seconds()
        with self._lock:
            held = list(self._held)
        if held:
            mine = models.Message.objects.filter(pk__in=held, claimed_by=self.broker.id)
            mine.update(available_at=self._lease_end())

    @staticmethod
    def _lease_end() -> Any:
        return timezone.now() + timedelta(seconds=conf.lease_seconds())

    def _claim(self) -> RowMessage | None:
        """Claim the oldest available row; rows that were delivered too often are put aside on the way."""
        while (row := self._claim_row()) is not None:
            if row.deliveries > MAX_DELIVERIES:
                self.broker.logger.error("Message %d was delivered too often; it is dead now.", row.pk)
                models.Message.objects.filter(pk=row.pk, claimed_by=self.broker.id).update(
                    dead_at=timezone.now(), claimed_by=""
                )
                continue
            with self._lock:
                self._held.add(row.pk)
            return RowMessage(Message.decode(row.body.encode("utf-8")), row.pk)
        return None

    def _claim_row(self) -> models.Message | None:
        now = timezone.now()
        live = models.Message.objects.filter(queue=self.queue_name, dead_at=None, available_at__lte=now)
        oldest = live.order_by("available_at", "pk")
        if connection.features.has_select_for_update_skip_locked:
            with transaction.atomic():
                row = oldest.select_for_update(skip_locked=True).first()
                return self._take(row, live) if row else None
        row = oldest.first()
        return self._take(row, live) if row else None

    def _take(self, row: models.Message, live: Any) -> models.Message | None:
        """The conditional UPDATE; None when another worker was faster (the next poll tries again)."""
        taken = live.filter(pk=row.pk).update(
            claimed_by=self.broker.id, available_at=self._lease_end(), deliveries=F("deliveries") + 1
        )
        row.deliveries += 1
        return row if taken else None
