"""The dramatiq actor. A message only wakes a worker, which then claims the next job of the queue."""

from __future__ import annotations

import dramatiq

from gym.jobs import conf, runner
from gym.jobs.broker import ACTOR, make_broker


@dramatiq.actor(actor_name=ACTOR)
def run_next(queue: str) -> None:
    """Claim and run the next job of `queue`, if any."""
    runner.run_next(queue)


def another_broker() -> dramatiq.Broker:
    """Create another broker for the site: dramatiq expects one for each Worker in a process."""
    broker = make_broker(conf.get("GYM_BROKER_URL"))
    broker.declare_actor(run_next)
    return broker
