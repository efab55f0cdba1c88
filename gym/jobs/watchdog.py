"""Ends the attempts whose handlers do not stop when they should: cancelled ones, and those whose time is over.

A handler that calls `context.check()` hears of both within a second, and this has nothing to do. One that sits in a
computation, a download or a kernel cannot be interrupted from outside: nothing interrupts a thread. So its attempt is
ended without it (what it writes afterwards matches no row), and if it still holds its thread a minute later the worker
ends, which gives the other jobs back and is started again.
"""

from __future__ import annotations

import logging
from time import monotonic

from gym.jobs import conf, runner, states
from gym.jobs.context import JobContext
from gym.jobs.errors import OutOfTime
from gym.jobs.models import Job

log = logging.getLogger(__name__)


class Watchdog:
    """Looked after by one thread of a worker, about once a second."""

    def __init__(self) -> None:
        self.bit = False
        self._should_stop: dict[JobContext, float] = {}
        self._ended: set[JobContext] = set()

    def look(self) -> bool:
        """End the attempts whose handlers have not stopped in time. True: one of them still has not, and the worker
        has to end."""
        running = runner.running()
        self._should_stop = {context: at for context, at in self._should_stop.items() if context in running}
        self._ended &= running
        if not running:
            return False
        now = monotonic()
        for context in running & (_cancelled(running) | {one for one in running if one.is_out_of_time}):
            self._should_stop.setdefault(context, now)
        react, deaf = conf.get("GYM_JOB_REACT_SECONDS"), conf.get("GYM_JOB_DEAF_SECONDS")
        for context, since in self._should_stop.items():
            if context not in self._ended and now - since >= react:
                self._end(context)
            if now - since >= react + deaf:
                log.error("job %s holds its thread and does not stop: the worker ends", context.job_id)
                self.bit = True
        return self.bit

    def _end(self, context: JobContext) -> None:
        """The handler's writes match no row from here on."""
        live = states.fenced(context.job_id, context.attempt)
        states.append_log(
            live, "The work did not stop when it was asked to; its attempt was ended all the same."
        )
        state = states.end_attempt(live, str(OutOfTime(context.seconds)), permanent=True)
        context.lose()
        self._ended.add(context)
        log.warning("job %s did not stop when it should; it is %s now", context.job_id, state)


def _cancelled(running: set[JobContext]) -> set[JobContext]:
    asked = Job.objects.filter(pk__in=[context.job_id for context in running], cancel_requested=True)
    attempts = set(asked.values_list("pk", "attempt"))
    return {context for context in running if (context.job_id, context.attempt) in attempts}
