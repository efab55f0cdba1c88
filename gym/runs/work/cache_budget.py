"""Keeping the score cache within its budget: what was read longest ago goes first.

Safe beside running runs: scores of a run that is under way stay, and a run that misses some all the same scores them
again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Q, QuerySet

from gym.jobs.models import ACTIVE_STATES, FINAL_STATES
from gym.runs.models import RunChunk, ScoreCache, SuiteRun

BATCH = 500


@dataclass(frozen=True)
class Trimmed:
    removed: int
    left: int


def trim(keep: int | None = None, *, tell: Callable[[int, int], None] = lambda done, total: None) -> Trimmed:
    """Take scored sentences away until `keep` are left (default GYM_SCORE_CACHE_SENTENCES, where 0 = keep all), least
    recently read first. `tell(done, total)` is called after each batch, and may raise to stop: batches are whole."""
    keep = settings.GYM_SCORE_CACHE_SENTENCES or None if keep is None else keep
    total = ScoreCache.objects.count()
    surplus = 0 if keep is None else max(0, total - keep)
    removed = 0
    while removed < surplus:
        oldest = _idle().order_by("used", "pk").values_list("pk", flat=True)
        batch = list(oldest[: min(BATCH, surplus - removed)])
        if not batch:
            break
        removed += ScoreCache.objects.filter(pk__in=batch).delete()[0]
        tell(removed, surplus)
    return Trimmed(removed, total - removed)


def _idle() -> QuerySet[ScoreCache]:
    """Scores that no run under way counts on."""
    busy = SuiteRun.objects.filter(completed_at=None, job__state__in=ACTIVE_STATES).exclude(scorer="")
    return ScoreCache.objects.exclude(scorer__in=busy.values("scorer"))


def spent_chunks() -> QuerySet[RunChunk]:
    """Steps that were done, of plans of runs that are finished: of no use any more."""
    ended = Q(run__job__state__in=FINAL_STATES) | Q(run__job=None)
    return RunChunk.objects.filter(ended, done=True, run__completed_at__isnull=False)


def drop_spent_chunks() -> int:
    """Take the plans of finished runs away; how many there were."""
    return spent_chunks().delete()[0]
