"""The settings of this package, each with its default in one place."""

from __future__ import annotations

from typing import Any

from django.conf import settings

SHORT = "short"
"""The queue of work that takes seconds to minutes and computes nothing with a model: beside it, never behind it."""
SIGN_SECONDS = 5.0  # how often a worker signs that it is alive

DEFAULTS: dict[str, Any] = {
    "GYM_BROKER_URL": "",  # "" or database:// = workers look for jobs; redis://… or amqp://… = dramatiq's
    "GYM_BROKER_NAMESPACE": "gym",  # prefix of every Redis key
    "GYM_JOB_QUEUES": ("default",),  # the queues that exist; a worker without --queues serves all of them
    "GYM_JOB_QUICK_QUEUES": (),  # queues whose jobs people wait for: each has a thread of its own in every worker
    "GYM_JOB_BESIDE_QUEUES": (),  # queues of short work, and of work that waits: each has a thread of its own, too
    "GYM_JOB_QUICK_POLL_SECONDS": 0.02,  # as GYM_JOB_POLL_SECONDS, for those
    "GYM_JOB_LEASE_SECONDS": 60.0,  # a worker silent for this long has lost its job
    "GYM_REAPER_SECONDS": 30.0,  # how often one worker looks for lost jobs and lost messages
    "GYM_JOB_WAKE_SECONDS": 60.0,  # a job queued for longer gets a new message if it has none
    "GYM_JOB_RETRY_SECONDS": 5.0,  # wait before the second try; doubles for each further one
    "GYM_JOB_QUIET_SECONDS": 300.0,  # no worker died for so long: jobs that failed by such deaths get one more try
    "GYM_JOB_LOOK_AGAIN_SECONDS": 60.0,  # a worker that lacked something leaves jobs that need it alone for so long
    "GYM_JOB_MAX_ATTEMPTS": 3,  # tries before a job fails
    "GYM_MAX_ACTIVE_JOBS_PER_USER": 200,  # queued and running jobs one user may have; 0 = no limit
    "GYM_JOB_POLL_SECONDS": 0.1,  # how often an idle worker looks for jobs in the database
    "GYM_JOB_STOP_SECONDS": 20.0,  # SIGTERM gives the running handler this long to stop
    "GYM_JOB_SECONDS": 86_400.0,  # an attempt may take so long, unless the handler's registration says otherwise
    "GYM_JOB_TURN_SECONDS": 600.0,  # an attempt that can go on later gives way to work of others after this
    "GYM_MAX_WAITING_JOBS": 20_000,  # queued jobs of the whole site; more are refused. 0 = no limit
    "GYM_JOB_REACT_SECONDS": 7.0,  # a handler that does not stop when it should has lost its job after this
    "GYM_JOB_DEAF_SECONDS": 60.0,  # and its worker ends if it still has not stopped after so much more
}


def get(name: str) -> Any:
    """The value of one of the settings above."""
    return getattr(settings, name, DEFAULTS[name])


def queues() -> tuple[str, ...]:
    """The names of the queues that exist."""
    return tuple(get("GYM_JOB_QUEUES"))


def lease_seconds() -> float:
    """How long a claim holds without a heartbeat."""
    return float(get("GYM_JOB_LEASE_SECONDS"))


def retry_seconds(tries: int) -> float:
    """How long a job waits for the next try; not at all when its last attempt got it a step further (no tries)."""
    return float(get("GYM_JOB_RETRY_SECONDS")) * 2 ** (tries - 1) if tries else 0.0


def is_quick(queue: str) -> bool:
    """Whether somebody sits and waits for the jobs of this queue."""
    return queue in get("GYM_JOB_QUICK_QUEUES")


def has_own_thread(queue: str) -> bool:
    """Whether the jobs of this queue run beside those of the others, in every worker."""
    return is_quick(queue) or queue in get("GYM_JOB_BESIDE_QUEUES")


def poll_seconds(queue: str) -> float:
    """How often an idle worker looks for jobs of this queue."""
    return float(get("GYM_JOB_QUICK_POLL_SECONDS" if is_quick(queue) else "GYM_JOB_POLL_SECONDS"))
