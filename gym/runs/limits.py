"""How much one account may ask for. Staff is exempt; 0 = no limit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Aggregate, Count, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from gym.jobs.errors import TooManyJobs
from gym.jobs.models import ACTIVE_STATES, Job
from gym.runs.models import SentenceCharge, SuiteRun

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


def charge_run(user: User, n_sentences: int) -> None:
    """Raise TooManySentences or TooManyRuns if this account may not queue a run of so many sentences now; else they
    count. Call it in the transaction that queues them."""
    with transaction.atomic():
        check_kept(user, 1)
        charge(user, n_sentences)


def charge(user: User, n_sentences: int) -> None:
    """Raise TooManySentences if this account may not have so many sentences scored now; else they count for a day,
    whatever becomes of them. Call it in the transaction that queues them."""
    if not n_sentences:
        return
    with transaction.atomic():
        user.hold()
        if not user.is_staff:
            _check_sentences(user, used_by(user).sentences, n_sentences)
        SentenceCharge.objects.filter(created__lte=timezone.now() - DAY).delete()
        SentenceCharge.objects.create(owner=user, n_sentences=n_sentences)


@dataclass(frozen=True)
class Used:
    runs: int  # kept
    sentences: int  # queued in the last 24 hours, whatever became of them
    jobs: int  # queued or running


def used_by(user: User) -> Used:
    """What this account has used of its allowances."""
    columns = use_columns()
    row = get_user_model().objects.filter(pk=user.pk).annotate(**columns).values_list(*columns).get()
    return Used(*row)


def use_columns() -> dict[str, Coalesce]:
    """The fields of Used as columns of accounts, for as many of them as a query has."""
    runs = SuiteRun.objects.filter(owner=OuterRef("pk"))
    active = Job.objects.filter(owner=OuterRef("pk"), state__in=ACTIVE_STATES)
    charges = _recent().filter(owner=OuterRef("pk"))
    return {
        "used_runs": _of_one(runs, Count("pk")),
        "used_sentences": _of_one(charges, Sum("n_sentences")),
        "used_jobs": _of_one(active, Count("pk")),
    }


def _recent() -> QuerySet[SentenceCharge]:
    return SentenceCharge.objects.filter(created__gt=timezone.now() - DAY)


def _of_one(rows: QuerySet[Any], figure: Aggregate) -> Coalesce:
    """This figure of one owner's rows, as a column of the owner."""
    return Coalesce(Subquery(rows.order_by().values("owner").annotate(n=figure).values("n")), 0)


def check_kept(user: User, n_runs: int) -> None:
    """Raise TooManyRuns if this account may not keep so many runs more, e.g. uploaded ones. Call it in the transaction
    that makes them."""
    user.hold()
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
    told = f"{used:,} sentence{'' if used == 1 else 's'}"
    raise TooManySentences(
        f"You queued {told} in the last 24 hours. With these {n_sentences:,} that is more than the {limit:,} one "
        "account may queue in a day.",
        _seconds_until(user, used + n_sentences - limit),
    )


def _seconds_until(user: User, surplus: int) -> int:
    """Until charges of so many sentences are more than a day old."""
    now = timezone.now()
    for created, n in _recent().filter(owner=user).order_by("created").values_list("created", "n_sentences"):
        surplus -= n
        if surplus <= 0:
            return max(1, int((created + DAY - now).total_seconds()) + 1)
    return int(DAY.total_seconds())
