"""For tests of the domain apps: run queued jobs here and now, without threads or processes."""

from __future__ import annotations

from gym.jobs import runner, states
from gym.jobs.models import Job


def run_pending(queue: str = "default", limit: int = 100) -> list[Job]:
    """Claim and run queued jobs until none can be claimed; returns them as they are afterwards."""
    ran: dict[object, None] = {}
    for _ in range(limit):
        job = states.claim_next(queue, "test")
        if job is None:
            break
        runner.run(job, heartbeat=False)
        ran[job.pk] = None
    return [Job.objects.get(pk=pk) for pk in ran]
