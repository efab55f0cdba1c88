"""A process on the lab's database that executes one JSON call per line for the tests."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.jobs.lab.settings")
django.setup()

import dramatiq  # noqa: E402
from django.db import connection, transaction  # noqa: E402

from gym.jobs import broker, fairness, selectors, services  # noqa: E402
from gym.jobs.models import Job  # noqa: E402
from tests.jobs.lab.models import Chunk, Receipt  # noqa: E402


def enqueue(kind: str, payload: dict[str, Any], **options: Any) -> str:
    with transaction.atomic():
        return str(services.enqueue(kind, payload, **options).pk)


def enqueue_and_roll_back(kind: str, payload: dict[str, Any], **options: Any) -> None:
    with transaction.atomic():
        services.enqueue(kind, payload, **options)
        transaction.set_rollback(True)


def job(job_id: str) -> dict[str, Any]:
    row = Job.objects.filter(pk=job_id).values(
        "state", "attempt", "tries", "error", "log", "claimed_by", "done"
    )
    return row.get()


def states() -> dict[str, int]:
    counts: dict[str, int] = {}
    for state in Job.objects.values_list("state", flat=True):
        counts[state] = counts.get(state, 0) + 1
    return counts


def cancel(job_id: str) -> str:
    return services.request_cancel(Job.objects.get(pk=job_id), actor="test").state


def retry(job_id: str) -> str:
    return services.retry(Job.objects.get(pk=job_id), actor="test").state


def chunks(job_id: str) -> list[Any]:
    return list(Chunk.objects.filter(job_id=job_id).order_by("number", "id").values_list("number", "value"))


def count_chunks() -> int:
    return Chunk.objects.count()


def receipts(job_id: str) -> list[int]:
    return list(Receipt.objects.filter(job_id=job_id).values_list("checksum", flat=True))


def wake(queue: str, times: int) -> None:
    for _ in range(times):
        broker.wake(queue)


def lose_messages(queue: str) -> None:
    dramatiq.get_broker().flush(queue)


def ready(queue: str) -> int:
    """Return the number of claimable jobs."""
    return fairness.ready(queue).count()


def workers() -> list[list[Any]]:
    return [[worker.id, worker.pid] for worker in selectors.workers()]


def clear() -> None:
    for model in (Chunk, Receipt, Job):
        model.objects.all().delete()


def drop_queues(queues: list[str]) -> None:
    """Delete these queues from a shared RabbitMQ, or the broker's keys from a shared Redis."""
    bus: Any = dramatiq.get_broker()
    for queue in queues:
        if hasattr(bus, "channel"):
            for name in (queue, f"{queue}.DQ", f"{queue}.XQ"):
                bus.channel.queue_delete(name)
        elif hasattr(bus, "client"):
            for key in bus.client.scan_iter(f"{bus.namespace}:*"):
                bus.client.delete(key)


def main() -> None:
    for line in sys.stdin:
        name, args, options = json.loads(line)
        try:
            answer = {"value": globals()[name](*args, **options)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        finally:
            if not connection.in_atomic_block:
                connection.close()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
