"""Work that staff asks for: the doctor's checks on a worker's machine, tidying up, and taking away what is old
(finished jobs, and runs that nobody but their people could see and that can be had again)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from gym.collections.models import CollectionEntry
from gym.collections.zips import drop_old as drop_old_zips
from gym.jobs.context import JobContext
from gym.jobs.handlers import handler
from gym.jobs.models import FINAL_STATES, Job, State
from gym.notices.services import forget_old
from gym.runs.models import SuiteRun
from gym.runs.work.cache import drop_spent_chunks, trim
from gym.runs.work.deleted_runs import delete_runs
from gym.sharing.models import Visibility

DOCTOR, TIDY, CLEAN = "doctor", "tidy_storage", "clean_up"


@handler(DOCTOR)
def doctor(context: JobContext) -> None:
    """The checks of `manage.py doctor`, where the models run. What they find is the job's log."""
    from gym.doctor import findings

    for level, text in findings():
        context.log(f"{level.strip()}: {text}")


@handler(TIDY)
def tidy_storage(context: JobContext) -> None:
    """Bring the score cache back to its budget; drop the plans of finished runs, old zips of collections and old
    notifications."""

    def tell(done: int, total: int) -> None:
        context.check()
        context.progress(done, total, "sentences")

    trimmed = trim(tell=tell)
    chunks = drop_spent_chunks()
    drop_old_zips()
    forget_old()
    context.log(
        f"{trimmed.removed} scored sentences taken away, {trimmed.left} left; {chunks} plans of finished runs dropped."
    )


# --- what is old ---


MIN_DAYS, MAX_DAYS, USUAL_DAYS = 30, 3650, 365
BATCH = 200
SHOWN = 20
_REASONS = (
    "suite_run", "agent_run", "agent_naming", "lmc_game", "lmc_guess", "score_request",
    "checked_models", "result_upload", "collection_zip",
)  # fmt: skip
"""What may point to a job. A failed or cancelled one says there why there is no result, and stays."""


def check_days(days: int) -> int:
    if not MIN_DAYS <= days <= MAX_DAYS:
        raise ValidationError(f"Between {MIN_DAYS} and {MAX_DAYS} days.")
    return days


def old_jobs(before: datetime) -> QuerySet[Job]:
    """Jobs that ended before, less those that say why something has no result."""
    pointed_at = Q()
    for name in _REASONS:
        pointed_at |= Q(**{f"{name}__isnull": False})
    kept = Job.objects.filter(pointed_at, pk=OuterRef("pk"))
    ended = Job.objects.filter(state__in=FINAL_STATES, finished__lt=before)
    return ended.filter(Q(state=State.DONE) | ~Exists(kept))


def old_runs(before: datetime) -> QuerySet[SuiteRun]:
    """Finished runs computed here before, of a private suite or model, and in no published collection. Uploaded runs
    stay: this site cannot compute them again."""
    published = CollectionEntry.objects.filter(collection__published_at__isnull=False).values("revision")
    hidden = Q(revision__suite__visibility=Visibility.PRIVATE) | Q(model__visibility=Visibility.PRIVATE)
    done = SuiteRun.objects.filter(source=SuiteRun.Source.COMPUTED, completed_at__lt=before)
    return done.filter(hidden).exclude(revision__in=published).order_by("completed_at", "pk")


def totals(before: datetime) -> dict[str, int]:
    """How many jobs and runs would go, and how many sentences the runs have."""
    counted = old_runs(before).order_by().aggregate(runs=Count("pk"), sentences=Sum("n_sentences", default=0))
    return {"jobs": old_jobs(before).count(), **counted}


def moment(days: int) -> datetime:
    return timezone.now() - timedelta(days=check_days(days))


@handler(CLEAN)
def clean_up(context: JobContext) -> None:
    """Delete old jobs and runs, as the payload says, in whole batches."""
    before = moment(context.payload["days"])
    wanted = context.payload["what"]

    def take(name: str, rows: QuerySet[Any], delete: Callable[[list[Any]], None]) -> None:
        total, done = rows.count(), 0
        while batch := list(rows.exclude(pk=context.job_id).values_list("pk", flat=True)[:BATCH]):
            context.check()
            delete(batch)
            done += len(batch)
            context.progress(done, max(done, total), name)
        context.log(f"{done} old {name} deleted.")

    if "runs" in wanted:
        take("runs", old_runs(before), lambda keys: delete_runs(SuiteRun.objects.filter(pk__in=keys)))
    if "jobs" in wanted:
        take("jobs", old_jobs(before), lambda keys: Job.objects.filter(pk__in=keys).delete() and None)
