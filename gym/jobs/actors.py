"""The one actor: a wake-up for a queue."""

from __future__ import annotations

import dramatiq

from gym.jobs import runner


@dramatiq.actor
def run_next(queue: str) -> None:
    """Claim the job of `queue` whose turn it is and run it. That there is none is no error."""
    runner.run_next(queue)
