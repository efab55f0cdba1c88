"""Chunk ownership when several workers score one run, and recruiting of idle workers.

A chunk belongs to the attempt that claimed it until it is scored or that attempt has ended, so chunks need no
lease in addition to the job's. Numbers do not depend on which attempt scores a chunk.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic

from django.db.models import Exists, OuterRef, QuerySet

from gym.jobs import fairness, lifecycle
from gym.jobs.context import JobContext
from gym.jobs.models import Job, State
from gym.jobs.selectors import idle_threads
from gym.jobs.services import enqueue
from gym.runs.models import RunChunk, SuiteRun

HELP = "suite_run_help"
"""Kind of job that scores chunks of another worker's run while no other job waits."""
LEAST_FREE = 3
"""Fewest free chunks for which help is requested; fewer are done before a helper has loaded the model."""
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 600.0
"""Seconds until help is requested again; doubled each time, because earlier requests may not have helped."""


class SharedChunks:
    """The chunks of a run as one attempt sees them."""

    def __init__(self, context: JobContext, run: SuiteRun) -> None:
        self.context, self.run = context, run
        self._tried: set[int] = set()
        self._ask_at, self._pause = 0.0, FIRST_PAUSE

    def claim(self) -> RunChunk | None:
        """Claim the first free, unscored chunk, or return None. Each attempt claims a chunk at most once."""
        while (chunk := self._free().first()) is not None:
            mine = {"taken_by": self.context.job_id, "taken_attempt": self.context.attempt}
            as_seen = RunChunk.objects.filter(
                pk=chunk.pk, done=False, taken_by=chunk.taken_by, taken_attempt=chunk.taken_attempt
            )
            if as_seen.update(**mine):
                self._tried.add(chunk.pk)
                return chunk
        return None

    def has_other_attempts(self) -> bool:
        """Return whether other attempts are still scoring chunks. Call when `claim` returned None."""
        return self._left().exists()

    def keep(self, chunk: RunChunk, scores: Mapping[str, object], *, done: bool) -> None:
        """Store the scores of a chunk, and release it unless `done`. Does nothing if the run was planned
        again in the meantime."""
        changes = {"scores": scores or None, "done": done, **({} if done else {"taken_by": None})}
        RunChunk.objects.filter(pk=chunk.pk).update(**changes)

    def ask_for_help(self) -> int:
        """Queue a helping job for each idle thread, up to the number of free chunks; return how many. Cheap enough to
        call before each chunk."""
        now = monotonic()
        if now < self._ask_at:
            return 0
        self._ask_at = now + FIRST_PAUSE
        free = self._free().count()
        n_helpers = min(idle_threads(self.context.queue), free) if free >= LEAST_FREE else 0
        for _ in range(n_helpers):
            enqueue(HELP, {"run": self.run.pk}, queue=self.context.queue, title=f"Help with {self.run}")
        if n_helpers:
            self._ask_at, self._pause = now + self._pause, min(2 * self._pause, LONGEST_PAUSE)
        return n_helpers

    def is_help_wanted(self) -> bool:
        """Return whether a helping attempt should continue: the run is still under way with the same scorer, no other
        job is waiting, and this worker need not be replaced."""
        if not lifecycle.may_claim(self.context.queue):
            return False
        under_way = SuiteRun.objects.filter(
            pk=self.run.pk,
            scorer=self.run.scorer,
            job__state=State.RUNNING,
            job__cancel_requested=False,
        )
        others = fairness.pressing(fairness.claimable(self.context.queue))
        return under_way.exists() and not others.exists()

    def _left(self) -> QuerySet[RunChunk]:
        left = self.run.chunks.filter(done=False).exclude(pk__in=self._tried)
        return left.order_by("number")

    def _free(self) -> QuerySet[RunChunk]:
        taker = Job.objects.filter(
            pk=OuterRef("taken_by"), attempt=OuterRef("taken_attempt"), state=State.RUNNING
        )
        return self._left().exclude(Exists(taker))
