"""This package's settings with their defaults."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

SHORT = "short"
"""Queue for jobs that take seconds to minutes. It has its own thread and never waits for scoring."""
AWAY_SECONDS = 0.25  # poll interval of quick queues while the broker that would wake workers is away
SIGN_SECONDS = 5.0  # interval of a worker's heartbeat

DEFAULTS: dict[str, Any] = {
    "GYM_BROKER_URL": "",  # "" or database:// = workers poll the database; redis://… or amqp://… = dramatiq's brokers
    "GYM_BROKER_NAMESPACE": "gym",  # prefix of every Redis key
    "GYM_JOB_QUEUES": ("default",),  # all queues; a worker without --queues serves all of them
    "GYM_JOB_QUICK_QUEUES": (),  # queues whose jobs users wait for; each has its own thread in every worker
    "GYM_JOB_OWN_THREAD_QUEUES": (),  # queues of short or mostly waiting jobs; each has its own thread, too
    "GYM_JOB_QUICK_POLL_SECONDS": 0.02,  # GYM_JOB_POLL_SECONDS of quick queues
    "GYM_JOB_LEASE_SECONDS": 60.0,  # a worker without a heartbeat for this time loses its job
    "GYM_REAPER_SECONDS": 30.0,  # interval of the search for lost jobs
    "GYM_JOB_RETRY_SECONDS": 5.0,  # delay of the second try; doubles for each further one
    "GYM_JOB_QUIET_SECONDS": 300.0,  # time without worker deaths after which jobs failed by deaths get one more try
    "GYM_JOB_LOOK_AGAIN_SECONDS": 60.0,  # time for which a worker does not claim jobs that need a resource it lacks
    "GYM_JOB_MAX_ATTEMPTS": 3,  # tries before a job fails
    "GYM_MAX_ACTIVE_JOBS_PER_USER": 200,  # queued and running jobs one user may have; 0 = no limit
    "GYM_JOB_POLL_SECONDS": 0.1,  # poll interval of an idle worker without a broker
    "GYM_JOB_MESSAGE_POLL_SECONDS": 2.0,  # poll interval of an idle worker that messages wake
    "GYM_JOB_STOP_SECONDS": 20.0,  # grace period of running handlers after SIGTERM
    "GYM_WORKER_MEMORY_MB": 0,  # a worker above this is replaced when its jobs have ended or yielded; 0 = never
    "GYM_JOB_SECONDS": 86_400.0,  # time limit of an attempt, unless its kind has another
    "GYM_JOB_TURN_SECONDS": 600.0,  # a resumable attempt yields to other users' jobs after this
    "GYM_MAX_WAITING_JOBS": 20_000,  # limit of queued jobs of the site; 0 = no limit
    "GYM_JOB_REACT_SECONDS": 7.0,  # time after which a handler that ignores a stop request loses its job
    "GYM_JOB_DEAF_SECONDS": 60.0,  # further time after which the worker exits if that handler still runs
}


def get(name: str) -> Any:
    """Return the value of a setting."""
    return getattr(settings, name, DEFAULTS[name])


def queues() -> tuple[str, ...]:
    """Return the names of all queues."""
    return tuple(get("GYM_JOB_QUEUES"))


def lease_seconds() -> float:
    """Return the duration of a lease in seconds."""
    return float(get("GYM_JOB_LEASE_SECONDS"))


def retry_seconds(tries: int) -> float:
    """Return the delay before the next try in seconds; 0 if the last attempt made progress (`tries` is 0)."""
    return float(get("GYM_JOB_RETRY_SECONDS")) * 2 ** (tries - 1) if tries else 0.0


def is_quick(queue: str) -> bool:
    """Return True if users wait for this queue's jobs."""
    return queue in get("GYM_JOB_QUICK_QUEUES")


def has_own_thread(queue: str) -> bool:
    """Return True if this queue has its own thread in every worker."""
    return is_quick(queue) or queue in get("GYM_JOB_OWN_THREAD_QUEUES")


def sends_messages(url: str) -> bool:
    """Return True if this GYM_BROKER_URL names a broker whose messages wake workers."""
    return (urlsplit(url).scheme or url) not in ("", "database")


def poll_seconds(queue: str, *, is_broker_away: bool = False) -> float:
    """Return the poll interval of an idle worker in seconds."""
    if sends_messages(get("GYM_BROKER_URL")):
        if is_broker_away and is_quick(queue):
            return AWAY_SECONDS
        return float(get("GYM_JOB_MESSAGE_POLL_SECONDS"))
    return float(get("GYM_JOB_QUICK_POLL_SECONDS" if is_quick(queue) else "GYM_JOB_POLL_SECONDS"))
