"""Helper for tests of other apps: run queued jobs synchronously."""

from __future__ import annotations

from uuid import UUID

from gym.jobs import conf, runner, states
from gym.jobs.models import Job, State


def run_pending(queue: str = "", limit: int = 100) -> list[Job]:
    """Claim and run jobs of a queue (default: all but the quick queues) until none can be claimed, at most `limit`
    attempts. Return these jobs, reloaded."""
    queues = [queue] if queue else [name for name in conf.queues() if not conf.is_quick(name)]
    ran: dict[UUID, None] = {}
    for _ in range(limit):
        waiting = set(Job.objects.filter(state=State.QUEUED).values_list("queue", flat=True))
        claimed = (states.claim_next(name, "test") for name in queues if name in waiting)
        job = next((job for job in claimed if job is not None), None)
        if job is None:
            break
        runner.run(job, heartbeat=False)
        ran[job.pk] = None
    return [Job.objects.get(pk=pk) for pk in ran]
