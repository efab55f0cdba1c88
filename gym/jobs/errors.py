"""Exceptions raised by jobs, and interrupts that end handlers.

Interrupts derive from BaseException, as KeyboardInterrupt does, so that an `except Exception` in a handler does not
catch them.
"""

from __future__ import annotations

from gym.jobs import text


class JobInterrupt(BaseException):
    """Raised in a handler to end the attempt now. Do not catch it."""


class Cancelled(JobInterrupt):
    """The job was cancelled."""


class OutOfTime(JobInterrupt):
    """The attempt exceeded the time limit of its kind; the job fails."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"Stopped after {seconds:,.0f} seconds, the time limit for such jobs. Saved results are kept; a retry "
            "continues from there."
        )


class LostLease(JobInterrupt):
    """The attempt is no longer live and cannot write results."""


class WorkerStopping(JobInterrupt):
    """The worker is shutting down or should be replaced; the job is queued again without losing a try."""


class Preempted(JobInterrupt):
    """The attempt yields to other users' jobs; the job is queued again without losing a try."""


class PermanentFailure(Exception):
    """A failure that a retry cannot fix: the job fails at once with this message."""


class MissingResource(Exception):
    """This worker lacks a resource that another may have; `what` describes it ("the files of the model x"). The job is
    queued again without losing a try."""

    def __init__(self, what: str) -> None:
        self.what = text.clean(what, 200)
        super().__init__(f"Waiting for a worker with {self.what}.")


class UnknownKind(ValueError):
    """No handler is registered for this kind of job."""


class UnknownQueue(ValueError):
    """The queue is not in GYM_JOB_QUEUES, so no worker serves it."""


class WrongState(Exception):
    """The job's state does not allow the requested change."""
