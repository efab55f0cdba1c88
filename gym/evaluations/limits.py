"""How much one account may ask for. Staff is exempt; 0 = no limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models import Aggregate, Count, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from gym.evaluations.models import SuiteRun
from gym.jobs.errors import TooManyJobs
from gym.jobs.models import ACTIVE_STATES, Job

if TYPE_CHECKING:
    from gym.accounts.models import User

DAY = timedelta(hours=24)


class TooManySentences(TooManyJobs):
    """Enough for today. `wait` says after how many seconds this much will be allowed again; None: never."""

    def __init__(self, message: str, wait: int | None) -> None:
        super().__init__(message)
        self.wait = wait


class TooManyRuns(ValidationError):
    """The account keeps as many runs as one may keep."""


def check(user: User, n_sentences: int) -> None:
    """Raise TooManySentences or TooManyRuns if this account may not queue a run of so many sentences now."""
    if user.is_staff:
        return
    used = used_by(user)
    _check_runs(user, used.runs)
    _check_sentences(user, used.sentences, n_sentences)


def check_sentences(user: User, n_sentences: int) -> None:
    """Raise TooManySentences if this account may not have so many sentences scored now."""
    if not user.is_staff:
        _check_sentences(user, used_by(user).sentences, n_sentences)


Counter = Callable[["User", datetime], list[tuple[datetime, int]]]
_others: list[Counter] = []


def also_counts(sentences_since: Counter) -> None:
    """Rooms that score sentences without a run say how many: (when, number) since a moment."""
    if sentences_since not in _others:
        _others.append(sentences_since)


@dataclass(frozen=True)
class Used:
    runs: int  # kept
    sentences: int  # queued in the last 24 hours, whatever became of them
    jobs: int  # queued or running


def used_by(user: User) -> Used:
    """What this account has used of its allowances."""
    since = timezone.now() - DAY
    runs = SuiteRun.objects.filter(owner=OuterRef("pk"))
    recent = runs.filter(source=SuiteRun.Source.COMPUTED, created__gt=since)
    active = Job.objects.filter(owner=OuterRef("pk"), state__in=ACTIVE_STATES)
    kept, sentences, jobs = (
        get_user_model()
        .objects.filter(pk=user.pk)
        .values_list(
            _of_one(runs, Count("pk")), _of_one(recent, Sum("n_sentences")), _of_one(active, Count("pk"))
        )
        .get()
    )
    others = sum(n for count in _others for _, n in count(user, since))
    return Used(kept, sentences + others, jobs)


def _of_one(rows: QuerySet[Any], figure: Aggregate) -> Coalesce:
    """This figure of one owner's rows, as a column of the owner."""
    return Coalesce(Subquery(rows.order_by().values("owner").annotate(n=figure).values("n")), 0)


def check_kept(user: User, n_runs: int) -> None:
    """Raise TooManyRuns if this account may not keep so many runs more, e.g. uploaded ones."""
    if not user.is_staff:
        _check_runs(user, SuiteRun.objects.filter(owner=user).count(), n_runs)


def run_limit(user: User) -> int:
    """Runs this account may keep; 0 = no limit."""
    return settings.GYM_MAX_RUNS_PER_USER if user.max_runs is None else user.max_runs


def sentence_limit(user: User) -> int:
    """Sentences this account may queue in 24 hours; 0 = no limit."""
    own = user.max_sentences_per_day
    return settings.GYM_MAX_SENTENCES_PER_DAY if own is None else own


def _check_runs(user: User, kept: int, more: int = 1) -> None:
    limit = run_limit(user)
    if not limit or kept + more <= limit:
        return
    with_these = "" if more == 1 else f" With these {more} it would be more."
    raise TooManyRuns(
        f"You keep {kept} runs, and {limit} is the limit.{with_these} Delete some that you no longer need."
    )


def _check_sentences(user: User, used: int, n_sentences: int) -> None:
    limit = sentence_limit(user)
    if not limit or used + n_sentences <= limit:
        return
    if n_sentences > limit:
        raise TooManySentences(
            f"This has {n_sentences:,} sentences, and {limit:,} a day is the limit of one account.", None
        )
    raise TooManySentences(
        f"You queued {used:,} sentences in the last 24 hours. With these {n_sentences:,} that is more "
        f"than the {limit:,} one account may queue in a day.",
        _seconds_until(user, used + n_sentences - limit),
    )


def _seconds_until(user: User, surplus: int) -> int:
    """Until runs with so many sentences are more than a day old."""
    now = timezone.now()
    recent = SuiteRun.objects.filter(owner=user, source=SuiteRun.Source.COMPUTED, created__gt=now - DAY)
    queued = list(recent.values_list("created", "n_sentences"))
    queued += [row for count in _others for row in count(user, now - DAY)]
    for created, n in sorted(queued):
        surplus -= n
        if surplus <= 0:
            return max(1, int((created + DAY - now).total_seconds()) + 1)
    return int(DAY.total_seconds())
