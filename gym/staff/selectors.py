"""What the staff page shows. Everything here is for staff; the views see to that."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import reduce
from operator import add, or_
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db.models import Count, F, Q, QuerySet, Subquery
from django.utils import timezone

from gym.accounts import daily_sentences, quotas
from gym.accounts.models import User
from gym.api.filters import MOST_WORDS
from gym.jobs.models import Job, State
from gym.jobs.services import active_limit
from gym.pages.profile import used_columns
from gym.runs.quotas import RUNS
from lmgym.text import MOST_CHARACTERS
from models_registry.models import RegisteredModel

FAILURE_DAYS = 7
MOST_FAILURES = 2_000
MOST_JOBS = 50
"""On one page, and steered at once."""
MOST_ACCOUNTS = 50
"""On one page."""
MOST_USERS = 20
"""Of those who use most."""
OWN_LIMITS = ("max_active_jobs", "max_sentences_per_day", "max_runs", "quota_factor")
_CHANGING = re.compile(r"\b[0-9a-f]{8,}\b|0x[0-9a-f]+|\d+", re.IGNORECASE)


@dataclass
class FailureGroup:
    """Failures of one kind of job whose messages differ at most in numbers."""

    kind: str
    message: str
    count: int = 0
    last: datetime | None = None
    latest: Job | None = field(default=None, repr=False)


def recent_failures() -> list[FailureGroup]:
    """The latest failures, grouped by what they say; the most frequent first."""
    since = timezone.now() - timedelta(days=FAILURE_DAYS)
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


def listed_jobs(state: str, words: str) -> QuerySet[Job]:
    """Jobs in a state, the newest first; each word is part of title, kind, message, owner or number."""
    rows = Job.objects.filter(state=state).select_related("owner").order_by("-created")
    for word in words[:MOST_CHARACTERS].split()[:MOST_WORDS]:
        found = Q(title__icontains=word) | Q(kind__icontains=word) | Q(error__icontains=word)
        found |= Q(owner__username__icontains=word)
        number = _number(word)
        rows = rows.filter(found | Q(pk=number) if number else found)
    return rows


def _number(word: str) -> UUID | None:
    try:
        return UUID(word)
    except ValueError:
        return None


def waiting_models() -> QuerySet[RegisteredModel]:
    waiting = RegisteredModel.objects.filter(status=RegisteredModel.Status.UNAPPROVED)
    return waiting.select_related("owner").order_by("created")


@dataclass(frozen=True)
class UserUse:
    """What one account uses of what it may use; a limit of 0 is none."""

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
    def has_own_limits(self) -> bool:
        return any(getattr(self.user, name) is not None for name in OWN_LIMITS)


def busiest_users() -> list[UserUse]:
    """Those who have jobs under way, queued most sentences in the last day, keep most runs, or have own limits."""
    own = reduce(or_, (Q(**{f"{name}__isnull": False}) for name in OWN_LIMITS))
    users: QuerySet[Any] = (
        get_user_model()
        .objects.filter(is_active=True)
        .annotate(**used_columns(), **quotas.columns_of([RUNS]))
    )
    busy = users.filter(Q(used_jobs__gt=0) | Q(used_sentences__gt=0) | Q(runs_number__gt=0) | own)
    return [
        UserUse(user, user.used_jobs, user.used_sentences, user.runs_number)
        for user in busy.order_by("-used_jobs", "-used_sentences", "-runs_number", "username")[:MOST_USERS]
    ]


@dataclass(frozen=True)
class StorageUse:
    """What one account keeps, by kind of thing."""

    user: User
    bytes: int
    uses: list[quotas.Use]

    @property
    def said_bytes(self) -> str:
        return quotas.said(self.bytes)

    def keeps(self, kind: quotas.Kind) -> bool:
        return any(use.kind == kind and use.kept.number for use in self.uses)


def accounts_by_size() -> QuerySet[Any]:
    """Accounts that keep anything, those whose things take up most first; `storage_use` reads a row."""
    kinds = quotas.kinds()
    columns = quotas.columns_of(kinds)
    total = reduce(add, (F(f"{kind.key}_bytes") for kind in kinds))
    users = get_user_model().objects.annotate(**columns).annotate(kept_bytes=total)
    anything = reduce(or_, (Q(**{f"{kind.key}_number__gt": 0}) for kind in kinds))
    return users.filter(anything).order_by("-kept_bytes", "username")


def storage_use(user: Any) -> StorageUse:
    return StorageUse(user, user.kept_bytes, quotas.uses_in(vars(user), user))


def last_job(kind: str) -> Job | None:
    """The newest job of a kind that staff asks for (DOCTOR, TIDY, CLEAN)."""
    return last_jobs(kind).get(kind)


def last_jobs(*kinds: str) -> dict[str, Job]:
    """The newest job of each kind, in one query; without the kinds that nobody asked for."""
    newest = [Job.objects.filter(kind=kind).order_by("-created").values("pk")[:1] for kind in kinds]
    wanted = reduce(or_, (Q(pk=Subquery(rows)) for rows in newest))
    return {job.kind: job for job in Job.objects.filter(wanted)}


def doctor_lines(job: Job | None) -> list[tuple[str, str]]:
    """(level, sentence) of the checks in a doctor job's log."""
    lines = []
    for line in (job.log if job else "").splitlines():
        found = re.fullmatch(r"\S+ \S+ (ok|note|BAD): (.*)", line)
        if found:
            lines.append((found[1], found[2]))
    return lines
