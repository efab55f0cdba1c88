"""What can go wrong with a job, and the three ways to interrupt a handler.

The interrupts derive from BaseException, as KeyboardInterrupt does, so that a handler's own
`except Exception` around one sentence cannot swallow them.
"""

from __future__ import annotations

from gym.jobs import text


class JobInterrupt(BaseException):
    """Stop working on this attempt now. Let it pass through the handler."""


class Cancelled(JobInterrupt):
    """Somebody asked for the job to stop."""


class OutOfTime(JobInterrupt):
    """The attempt took longer than jobs of its kind may; the job fails."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"It took longer than {seconds:,.0f} seconds, the limit for such a job, and was ended. What was kept "
            "stays; trying it again goes on from there."
        )


class LostLease(JobInterrupt):
    """The attempt is no longer ours: nothing it writes counts any more."""


class WorkerStopping(JobInterrupt):
    """The worker shuts down; the job goes back to the queue and loses no try."""


class Preempted(JobInterrupt):
    """The attempt has had its turn, and somebody else waits; the job goes back to the queue and loses no try."""


class PermanentFailure(Exception):
    """Trying again would not help: fail now, with this message."""


class MissingResource(Exception):
    """This worker lacks what the job needs, and another may have it; `what` says it in words ("the files of the model
    x"). The job goes back to the queue and loses no try."""

    def __init__(self, what: str) -> None:
        self.what = text.clean(what, 200)
        super().__init__(f"Waiting for a worker with {self.what}.")


class UnknownKind(ValueError):
    """No handler is registered for this kind of job."""


class UnknownQueue(ValueError):
    """The queue is not in GYM_JOB_QUEUES, so no worker would ever look at it."""


class WrongState(Exception):
    """The job is not in a state in which this can be done."""
