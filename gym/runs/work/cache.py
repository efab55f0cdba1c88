"""Score cache: token surprisals of texts by scorer, kept within a budget.

Evicts the least recently read scores. Safe while runs are active: their scores are kept, and a run scores missing texts
again.
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
USED_RESOLUTION = timedelta(days=1)


def read(scorer: str, texts: Iterable[str]) -> dict[str, Scores]:
    """Return cached scores of these texts, by text."""
    by_key = {text_key(text): text for text in texts}
    keys = list(by_key)
    scores: dict[str, Scores] = {}
    for start in range(0, len(keys), BATCH):
        rows = ScoreCache.objects.filter(scorer=scorer, text_sha256__in=keys[start : start + BATCH])
        for key, stored in rows.values_list("text_sha256", "scores"):
            scores[by_key[key]] = from_json(stored)
        stale = rows.filter(used__lt=timezone.now() - USED_RESOLUTION)
        if stale.exists():  # one write per row and day; most reads write nothing
            stale.update(used=timezone.now())
    return scores


def write(scorer: str, scores: Mapping[str, Scores]) -> None:
    """Store scores; a text stored by another process in the meantime keeps its first value.

    Raises ValueError for incomplete scores. Transient failures are not stored. Rows are written in key order, so
    that two runs with common texts wait for each other instead of deadlocking.
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


def trim(
    keep: int | None = None, *, progress: Callable[[int, int], None] = lambda done, total: None
) -> Trimmed:
    """Evict the least recently read sentences until `keep` are left. The default of `keep` is
    GYM_SCORE_CACHE_SENTENCES, where 0 means no limit.

    `progress(done, total)` is called after each batch and may raise to stop.
    """
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
        progress(removed, surplus)
    return Trimmed(removed, total - removed)


def _idle() -> QuerySet[ScoreCache]:
    """Return scores whose scorer is not used by an active run."""
    busy = SuiteRun.objects.filter(completed_at=None, job__state__in=ACTIVE_STATES).exclude(scorer="")
    return ScoreCache.objects.exclude(scorer__in=busy.values("scorer"))


def spent_chunks() -> QuerySet[RunChunk]:
    """Return finished chunks of finished runs, which are no longer needed."""
    ended = Q(run__job__state__in=FINAL_STATES) | Q(run__job=None)
    return RunChunk.objects.filter(ended, done=True, run__completed_at__isnull=False)


def drop_spent_chunks() -> int:
    """Delete `spent_chunks`; return how many."""
    return spent_chunks().delete()[0]
