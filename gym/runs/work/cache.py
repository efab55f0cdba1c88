"""The score cache: token surprisals of texts that this scorer has seen before, kept within a budget.

What was read longest ago goes first. That is safe beside running runs: scores of a run that is under way stay, and a
run that misses some all the same scores them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone

from gym.jobs.models import ACTIVE_STATES, FINAL_STATES
from gym.runs.models import RunChunk, ScoreCache, SuiteRun
from lmgym.runs.score_store import from_json, is_lasting, is_whole, text_key, to_json
from lmgym.runs.token_arrays import Scores

BATCH = 500
USED_TO_THE = timedelta(days=1)


def read(scorer: str, texts: Iterable[str]) -> dict[str, Scores]:
    """The known scores among these texts, by text."""
    by_key = {text_key(text): text for text in texts}
    keys = list(by_key)
    found: dict[str, Scores] = {}
    for start in range(0, len(keys), BATCH):
        rows = ScoreCache.objects.filter(scorer=scorer, text_sha256__in=keys[start : start + BATCH])
        for key, stored in rows.values_list("text_sha256", "scores"):
            found[by_key[key]] = from_json(stored)
        stale = rows.filter(used__lt=timezone.now() - USED_TO_THE)
        if stale.exists():  # one write a day for each row that is read, and none for most reads
            stale.update(used=timezone.now())
    return found


def write(scorer: str, scores: Mapping[str, Scores]) -> None:
    """Keep these scores; a text that somebody else stored meanwhile keeps the first value.

    Everything in the cache is whole: a score that lacks tokens is a ValueError. Failures that may pass are not kept.
    Rows are written in the order of their keys, so that two runs with texts in common wait for each other instead of
    locking each other out.
    """
    if not all(map(is_whole, scores.values())):
        raise ValueError("incomplete scores must not be cached")
    rows = [
        ScoreCache(scorer=scorer, text_sha256=text_key(text), scores=to_json(value))
        for text, value in scores.items()
        if is_lasting(value)
    ]
    ScoreCache.objects.bulk_create(
        sorted(rows, key=lambda row: row.text_sha256),
        batch_size=BATCH,
        ignore_conflicts=True,
    )


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
