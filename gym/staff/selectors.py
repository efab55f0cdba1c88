"""Queries for the staff page. The views check that the user is staff."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import reduce
from operator import add, or_
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Count, F, Q, QuerySet, Subquery
from django.utils import timezone

from gym.accounts import daily_sentences, quotas
from gym.accounts.models import User
from gym.jobs.models import Job, State
from gym.jobs.services import active_limit
from gym.pages.profile import used_columns
from gym.runs.quotas import RUNS
from models_registry.models import RegisteredModel

FAILURE_DAYS = 7
MOST_FAILURES = 2_000
MOST_ACCOUNTS = 50
"""Accounts per page."""
MOST_USERS = 20
"""Maximum number of users shown, heaviest first."""
CUSTOM_LIMITS = ("max_active_jobs", "max_sentences_per_day", "max_runs", "quota_factor")
_CHANGING = re.compile(r"\b[0-9a-f]{8,}\b|0x[0-9a-f]+|\d+", re.IGNORECASE)


@dataclass
class FailureGroup:
    """Group of failures of one kind of job whose messages differ only in numbers and hashes."""

    kind: str
    message: str
    count: int = 0
    last: datetime | None = None
    latest: Job | None = field(default=None, repr=False)


def recent_failures() -> list[FailureGroup]:
    """Return the failures of the last FAILURE_DAYS (the newest MOST_FAILURES), grouped by message, most frequent
    first."""
    since = timezone.now() - timedelta(days=FAILURE_DAYS)
    failed = Job.objects.filter(state=State.FAILED, finished__gt=since).order_by("-finished")
    groups: dict[tuple[str, str], FailureGroup] = {}
    for job in failed.only("id", "kind", "error", "finished", "title")[:MOST_FAILURES]:
        lines = job.error.strip().splitlines()
        message = lines[0][:300] if lines else ""
        key = (job.kind, _CHANGING.sub("…", message))
        group = groups.setdefault(key, FailureGroup(job.kind, message))
        if group.latest is None:
            group.latest, group.last = job, job.finished
        group.count += 1
    return sorted(groups.values(), key=lambda group: -group.count)


def job_counts() -> dict[str, int]:
    """Return the number of jobs in every state, including 0."""
    rows = Job.objects.order_by().values_list("state").annotate(Count("id"))
    return {str(state): 0 for state in State.values} | dict(rows)


def waiting_models() -> QuerySet[RegisteredModel]:
    waiting = RegisteredModel.objects.filter(status=RegisteredModel.Status.UNAPPROVED)
    return waiting.select_related("owner").order_by("created")


@dataclass(frozen=True)
class UserUse:
    """Active jobs, sentences and runs of one account, with its limits; 0 = no limit."""

    user: User
    active: int
    sentences: int
    runs: int

    @property
    def limits(self) -> tuple[int, int, int]:
        user = self.user
        sentences = 0 if user.is_staff else daily_sentences.limit_of(user)
        runs = 0 if user.is_staff else RUNS.limit_of(user).number
        return active_limit(user), sentences, runs

    @property
    def has_custom_limits(self) -> bool:
        return any(getattr(self.user, name) is not None for name in CUSTOM_LIMITS)


def busiest_users() -> list[UserUse]:
    """Return accounts with active jobs, sentences queued in the last day, kept runs or individual limits; the
    heaviest first, at most MOST_USERS."""
    has_limits = reduce(or_, (Q(**{f"{name}__isnull": False}) for name in CUSTOM_LIMITS))
    users: QuerySet[Any] = (
        get_user_model()
        .objects.filter(is_active=True)
        .annotate(**used_columns(), **quotas.columns_of([RUNS]))
    )
    busy = users.filter(Q(used_jobs__gt=0) | Q(used_sentences__gt=0) | Q(runs_number__gt=0) | has_limits)
    return [
        UserUse(user, user.used_jobs, user.used_sentences, user.runs_number)
        for user in busy.order_by("-used_jobs", "-used_sentences", "-runs_number", "username")[:MOST_USERS]
    ]


@dataclass(frozen=True)
class StorageUse:
    """Storage of one account, by kind."""

    user: User
    bytes: int
    uses: list[quotas.Use]

    @property
    def bytes_text(self) -> str:
        return quotas.size_text(self.bytes)

    def keeps(self, kind: quotas.Kind) -> bool:
        return any(use.kind == kind and use.amount.number for use in self.uses)


def accounts_by_size() -> QuerySet[Any]:
    """Return accounts that store anything, largest first. `storage_use` converts a row."""
    kinds = quotas.kinds()
    columns = quotas.columns_of(kinds)
    total = reduce(add, (F(f"{kind.key}_bytes") for kind in kinds))
    users = get_user_model().objects.annotate(**columns).annotate(kept_bytes=total)
    anything = reduce(or_, (Q(**{f"{kind.key}_number__gt": 0}) for kind in kinds))
    return users.filter(anything).order_by("-kept_bytes", "username")


def storage_use(user: Any) -> StorageUse:
    return StorageUse(user, user.kept_bytes, quotas.uses_in(vars(user), user))


def last_job(kind: str) -> Job | None:
    """Return the newest job of this kind, or None."""
    return last_jobs(kind).get(kind)


def last_jobs(*kinds: str) -> dict[str, Job]:
    """Return the newest job of each kind in one query; kinds without a job are left out."""
    newest = [Job.objects.filter(kind=kind).order_by("-created").values("pk")[:1] for kind in kinds]
    is_newest = reduce(or_, (Q(pk=Subquery(rows)) for rows in newest))
    return {job.kind: job for job in Job.objects.filter(is_newest)}


def doctor_lines(job: Job | None) -> list[tuple[str, str]]:
    """Parse a doctor job's log into (level, sentence) pairs."""
    lines = []
    for line in (job.log if job else "").splitlines():
        match = re.fullmatch(r"\S+ \S+ (ok|note|BAD): (.*)", line)
        if match:
            lines.append((match[1], match[2]))
    return lines
