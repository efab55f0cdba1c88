"""The dramatiq actor."""

from __future__ import annotations

import dramatiq

from gym.jobs import runner
from gym.jobs.broker import make_middleware
from gym.jobs.polling import ACTOR, DatabaseBroker


@dramatiq.actor(actor_name=ACTOR)
def run_next(queue: str) -> None:
    """Claim and run the next job of `queue`, if any."""
    runner.run_next(queue)


def polling_broker() -> DatabaseBroker:
    """Create a broker for one dramatiq.Worker, which polls for jobs. dramatiq expects one broker for each."""
    broker = DatabaseBroker(middleware=make_middleware())
    broker.declare_actor(run_next)
    return broker
