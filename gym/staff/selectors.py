"""What the staff page shows. Everything here is for staff; the views see to that."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import Count, Q, QuerySet, Sum
from django.utils import timezone

from gym.evaluations.cache_care import spent_chunks
from gym.evaluations.limits import DAY, run_limit, sentence_limit
from gym.evaluations.models import ScoreCache, SentenceScore, SuiteRun
from gym.jobs.models import ACTIVE_STATES, Job, State
from gym.jobs.services import active_limit
from gym.staff.actors import DOCTOR, TIDY
from models_registry.models import RegisteredModel

FAILURE_DAYS = 7
MOST_FAILURES = 2_000
MOST_JOBS = 100
_CHANGING = re.compile(r"\b[0-9a-f]{8,}\b|0x[0-9a-f]+|\d+", re.IGNORECASE)


@dataclass
class FailureGroup:
    """Failures of one kind of job whose messages differ at most in numbers."""

    kind: str
    message: str
    count: int = 0
    last: datetime | None = None
    latest: Job | None = field(default=None, repr=False)


def recent_failures(days: int = FAILURE_DAYS) -> list[FailureGroup]:
    """The latest failures, grouped by what they say; the most frequent first."""
    since = timezone.now() - timedelta(days=days)
    failed = Job.objects.filter(state=State.FAILED, finished__gt=since).order_by("-finished")
    groups: dict[tuple[str, str], FailureGroup] = {}
    for job in failed.only("id", "kind", "error", "finished", "title")[:MOST_FAILURES]:
        lines = job.error.strip().splitlines()
        said = lines[0][:300] if lines else ""
        key = (job.kind, _CHANGING.sub("…", said))
        group = groups.setdefault(key, FailureGroup(job.kind, said))
        if group.latest is None:
            group.latest, group.last = job, job.finished
        group.count += 1
    return sorted(groups.values(), key=lambda group: -group.count)


def job_counts() -> dict[str, int]:
    """Number of jobs by state; states without any are there with 0."""
    rows = Job.objects.order_by().values_list("state").annotate(Count("id"))
    return {str(state): 0 for state in State.values} | dict(rows)


def listed_jobs(state: str) -> QuerySet[Job]:
    """The newest jobs in a state."""
    return Job.objects.filter(state=state).select_related("owner").order_by("-created")[:MOST_JOBS]


def waiting_models() -> QuerySet[RegisteredModel]:
    waiting = RegisteredModel.objects.filter(status=RegisteredModel.Status.UNAPPROVED)
    return waiting.select_related("owner").order_by("created")


@dataclass(frozen=True)
class Storage:
    cached: int  # scored sentences
    budget: int  # 0 = no limit
    runs: int
    run_sentences: int
    spent_chunks: int
    folders: list[tuple[str, int]]  # name, bytes

    @property
    def percent(self) -> int | None:
        return min(100, self.cached * 100 // self.budget) if self.budget else None

    @property
    def over(self) -> int:
        return max(0, self.cached - self.budget) if self.budget else 0


def storage() -> Storage:
    """How much is kept."""
    folders = [("Model directory", settings.GYM_MODEL_DIR), ("Data directory", settings.VAR_DIR)]
    return Storage(
        cached=ScoreCache.objects.count(),
        budget=settings.GYM_SCORE_CACHE_SENTENCES,
        runs=SuiteRun.objects.count(),
        run_sentences=SentenceScore.objects.count(),
        spent_chunks=spent_chunks().count(),
        folders=[(name, _size(path)) for name, path in folders if path.is_dir()],
    )


def _size(folder: Path, most: int = 20_000) -> int:
    """Bytes of the files below a folder, of so many files at most."""
    total = 0
    for number, path in enumerate(folder.rglob("*")):
        if number >= most:
            break
        if path.is_file() and not path.is_symlink():
            total += path.stat().st_size
    return total


@dataclass(frozen=True)
class UserUse:
    """What one account uses of what it may use; a limit of 0 is none."""

    user: Any
    active: int
    sentences: int
    runs: int

    @property
    def limits(self) -> tuple[int, int, int]:
        sentences, runs = (0, 0) if self.user.is_staff else (sentence_limit(self.user), run_limit(self.user))
        return active_limit(self.user), sentences, runs

    @property
    def has_own_limits(self) -> bool:
        own = (self.user.max_active_jobs, self.user.max_sentences_per_day, self.user.max_runs)
        return any(limit is not None for limit in own)


def busiest_users(most: int = 20) -> list[UserUse]:
    """Those who queued most sentences in the last day, have jobs under way, keep most runs, or limits of their own."""
    users = get_user_model().objects.filter(is_active=True)
    recent = Q(source=SuiteRun.Source.COMPUTED, created__gt=timezone.now() - DAY)
    by_runs = {
        row["owner"]: row
        for row in SuiteRun.objects.order_by()
        .values("owner")
        .annotate(n=Count("pk"), recent=Sum("n_sentences", filter=recent))
    }
    active = dict(
        Job.objects.filter(state__in=ACTIVE_STATES).order_by().values_list("owner").annotate(Count("id"))
    )
    own = (
        Q(max_active_jobs__isnull=False) | Q(max_sentences_per_day__isnull=False) | Q(max_runs__isnull=False)
    )
    interesting = users.filter(Q(pk__in=_known(by_runs)) | Q(pk__in=_known(active)) | own)
    uses = [
        UserUse(
            user,
            active.get(user.pk, 0),
            by_runs.get(user.pk, {}).get("recent") or 0,
            by_runs.get(user.pk, {}).get("n", 0),
        )
        for user in interesting
    ]
    return sorted(uses, key=lambda use: (-use.active, -use.sentences, -use.runs, use.user.username))[:most]


def _known(ids: Iterable[int | None]) -> list[int]:
    return [pk for pk in ids if pk is not None]


def last_job(kind: str) -> Job | None:
    """The newest job of a kind that staff asks for (DOCTOR, TIDY)."""
    return Job.objects.filter(kind=kind).order_by("-created").first()


def doctor_lines(job: Job | None) -> list[tuple[str, str]]:
    """(level, sentence) of the checks in a doctor job's log."""
    lines = []
    for line in (job.log if job else "").splitlines():
        found = re.fullmatch(r"\S+ \S+ (ok|note|BAD): (.*)", line)
        if found:
            lines.append((found[1], found[2]))
    return lines


__all__ = ["DOCTOR", "TIDY", "busiest_users", "doctor_lines", "job_counts", "last_job", "listed_jobs"]
