"""Several workers at one run: who scores which chunk, and how workers that have nothing to do are asked to help.

A chunk belongs to the attempt that took it until it is scored, or until that attempt is over: then anybody may take it.
So there is one lease, that of the job. Which attempt scores a chunk changes nothing in its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic

from django.db.models import Exists, OuterRef, QuerySet

from gym.jobs import fairness
from gym.jobs.context import JobContext
from gym.jobs.models import Job, State
from gym.jobs.selectors import idle_threads
from gym.jobs.services import enqueue
from gym.runs.models import RunChunk, SuiteRun

HELP = "suite_run_help"
"""Kind of job: it scores chunks of a run that another worker is at, while nothing else waits."""
LEAST_FREE = 3
"""For fewer chunks nobody is asked: they are done before a model is loaded."""
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 600.0
"""Seconds until help is asked for again; twice as many after each time, because it may have been of no use."""


class SharedChunks:
    """The chunks of a run, as one attempt sees them."""

    def __init__(self, context: JobContext, run: SuiteRun) -> None:
        self.context, self.run = context, run
        self._tried: set[int] = set()
        self._ask_at, self._pause = 0.0, FIRST_PAUSE

    def take(self) -> RunChunk | None:
        """The first chunk that is not scored and that nobody is at; None when there is none. An attempt takes each of
        them once."""
        while (chunk := self._free().first()) is not None:
            mine = {"taken_by": self.context.job_id, "taken_attempt": self.context.attempt}
            as_seen = RunChunk.objects.filter(
                pk=chunk.pk, done=False, taken_by=chunk.taken_by, taken_attempt=chunk.taken_attempt
            )
            if as_seen.update(**mine):
                self._tried.add(chunk.pk)
                return chunk
        return None

    def others_at_work(self) -> bool:
        """Whether chunks are left, all of them with others; to be asked when `take` gave none."""
        return self._left().exists()

    def keep(self, chunk: RunChunk, scores: Mapping[str, object], *, done: bool) -> None:
        """Write what a chunk came to. One that could not be scored is anybody's again. Writes nothing when the run was
        planned anew meanwhile."""
        changes = {"scores": scores or None, "done": done, **({} if done else {"taken_by": None})}
        RunChunk.objects.filter(pk=chunk.pk).update(**changes)

    def ask_for_help(self) -> int:
        """Queue a job for each worker that has nothing to do, as far as there are chunks for them. Returns how many.
        Cheap: call it before each chunk."""
        now = monotonic()
        if now < self._ask_at:
            return 0
        self._ask_at = now + FIRST_PAUSE
        free = self._free().count()
        wanted = min(idle_threads(self.context.queue), free) if free >= LEAST_FREE else 0
        for _ in range(wanted):
            enqueue(HELP, {"run": self.run.pk}, queue=self.context.queue, title=f"Help with {self.run}")
        if wanted:
            self._ask_at, self._pause = now + self._pause, min(2 * self._pause, LONGEST_PAUSE)
        return wanted

    def is_help_wanted(self) -> bool:
        """For an attempt that helps: whether the run is still under way, by the same scorer, and nothing else waits for
        this worker."""
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
