"""The one actor: a wake-up for a queue."""

from __future__ import annotations

import dramatiq

from gym.jobs import conf, runner
from gym.jobs.broker import ACTOR, make_broker


@dramatiq.actor(actor_name=ACTOR)
def run_next(queue: str) -> None:
    """Claim the job of `queue` whose turn it is and run it. That there is none is no error."""
    runner.run_next(queue)


def another_broker() -> dramatiq.Broker:
    """The site's broker once more: dramatiq expects one for each Worker in a process."""
    broker = make_broker(conf.get("GYM_BROKER_URL"))
    broker.declare_actor(run_next)
    return broker
