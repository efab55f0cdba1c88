"""Jobs queued by staff: the doctor's checks, tidying up storage, deleting unused weights, and deleting old jobs and
reproducible private runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from gym.accounts.quotas import size_text
from gym.collections.models import CollectionEntry
from gym.jobs.context import JobContext
from gym.jobs.handlers import handler
from gym.jobs.models import FINAL_STATES, Job, State
from gym.pages import retention
from gym.runs.models import SuiteRun
from gym.runs.work.deleted_runs import delete_runs
from gym.sharing.models import Visibility
from lmgym.text import count
from models_registry.weights import delete_unused

DOCTOR, TIDY, CLEAN, WEIGHTS = "doctor", "tidy_storage", "clean_up", "delete_unused_weights"


@handler(DOCTOR)
def doctor(context: JobContext) -> None:
    """Run the checks of `lmgym doctor` on a worker's machine and write them to the job's log."""
    from gym.doctor import findings

    for level, text in findings():
        context.log(f"{level.strip()}: {text}")


@handler(TIDY)
def tidy_storage(context: JobContext) -> None:
    """Delete everything that has expired; see gym.pages.retention."""

    def on_progress(done: int, total: int) -> None:
        context.check()
        context.progress(done, total, "sentences")

    for line in retention.clean_up(on_progress) or ["Nothing has expired."]:
        context.log(line)


@handler(WEIGHTS)
def delete_unused_weights(context: JobContext) -> None:
    """Delete weights from the Hub that no model uses, on this worker's machine."""
    total = 0
    for cached, freed in delete_unused():
        total += freed
        context.log(f"Deleted {cached.repo} at {cached.commit[:12]}: {size_text(freed)}.")
        context.check()
    context.log(f"{size_text(total)} freed.")


# --- old jobs and runs ---


MIN_DAYS, MAX_DAYS, USUAL_DAYS = 30, 3650, 365
BATCH = 200
SHOWN = 20
_REASONS = (
    "suite_run", "agent_run", "agent_naming", "lmc_game", "score_request",
    "checked_models", "result_upload", "collection_zip", "account_export", "human_data",
    "human_data_import", "people_comparison",
)  # fmt: skip
"""Related names of rows that refer to a job. A failed or cancelled job explains why their result is missing, so it is
kept."""


def check_days(days: int) -> int:
    if not MIN_DAYS <= days <= MAX_DAYS:
        raise ValidationError(f"Choose a number of days from {MIN_DAYS} to {MAX_DAYS}.")
    return days


def old_jobs(before: datetime) -> QuerySet[Job]:
    """Return the jobs that ended before this time, except those that explain a missing result."""
    pointed_at = Q()
    for name in _REASONS:
        pointed_at |= Q(**{f"{name}__isnull": False})
    kept = Job.objects.filter(pointed_at, pk=OuterRef("pk"))
    ended = Job.objects.filter(state__in=FINAL_STATES, finished__lt=before)
    return ended.filter(Q(state=State.DONE) | ~Exists(kept))


def old_runs(before: datetime) -> QuerySet[SuiteRun]:
    """Return runs of private suites or models that were computed here, finished before this time, and are in no
    published collection. Uploaded runs cannot be recomputed and are kept."""
    published = CollectionEntry.objects.filter(collection__published_at__isnull=False).values("revision")
    hidden = Q(revision__suite__visibility=Visibility.PRIVATE) | Q(model__visibility=Visibility.PRIVATE)
    done = SuiteRun.objects.filter(source=SuiteRun.Source.COMPUTED, completed_at__lt=before)
    return done.filter(hidden).exclude(revision__in=published).order_by("completed_at", "pk")


def totals(before: datetime) -> dict[str, int]:
    """Count old jobs and runs, and these runs' sentences."""
    counted = old_runs(before).order_by().aggregate(runs=Count("pk"), sentences=Sum("n_sentences", default=0))
    return {"jobs": old_jobs(before).count(), **counted}


def moment(days: int) -> datetime:
    return timezone.now() - timedelta(days=check_days(days))


def delete_old(
    what: str, before: datetime, on_progress: Callable[[int, int], None] = lambda done, total: None
) -> int:
    """Delete old "jobs" or "runs" in batches and return their number. `on_progress(done, total)` is called after each
    batch and may raise to stop."""
    rows: QuerySet[Any] = old_runs(before) if what == "runs" else old_jobs(before)
    total, done = rows.count(), 0
    while batch := list(rows.values_list("pk", flat=True)[:BATCH]):
        if what == "runs":
            delete_runs(SuiteRun.objects.filter(pk__in=batch))
        else:
            Job.objects.filter(pk__in=batch).delete()
        done += len(batch)
        on_progress(done, max(done, total))
    return done


@handler(CLEAN)
def clean_up(context: JobContext) -> None:
    """Delete the old jobs and runs that the payload requests."""
    before = moment(context.payload["days"])
    for what in ("runs", "jobs"):
        if what not in context.payload["what"]:
            continue

        def on_progress(done: int, total: int, unit: str = what) -> None:
            context.check()
            context.progress(done, total, unit)

        done = delete_old(what, before, on_progress)
        context.log(f"Deleted {count(done, 'old ' + what.removesuffix('s'))}.")
