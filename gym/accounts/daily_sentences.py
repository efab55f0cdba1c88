"""Daily limit on sentences that one account may have scored. Staff are exempt; 0 = no limit."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from gym.accounts.errors import LimitReached
from gym.accounts.models import SentenceCharge, User
from gym.accounts.quotas import Part

DAY = timedelta(hours=24)


class TooManySentences(LimitReached):
    """The daily limit is reached. `wait`: seconds until these sentences fit the limit; None if they never will."""

    def __init__(self, message: str, wait: int | None) -> None:
        super().__init__(message)
        self.wait = wait


def charge(user: User, n_sentences: int) -> None:
    """Count sentences towards the account's limit for 24 hours, whether or not they are scored. Raises
    TooManySentences, but not for staff. Call in the transaction that queues them."""
    if not n_sentences:
        return
    with transaction.atomic():
        user.lock()
        if not user.is_staff:
            _check(user, used_by(user), n_sentences)
        SentenceCharge.objects.filter(created__lte=timezone.now() - DAY).delete()
        SentenceCharge.objects.create(owner=user, n_sentences=n_sentences)


def used_by(user: User) -> int:
    """Return the number of sentences that the account queued in the last 24 hours."""
    return _recent().filter(owner=user).aggregate(n=Sum("n_sentences"))["n"] or 0


def used_column() -> Coalesce:
    """Return `used_by` as an annotation for querysets of accounts."""
    return Part(SentenceCharge).column(Sum("n_sentences"), only=_is_recent())


def _is_recent() -> Q:
    return Q(created__gt=timezone.now() - DAY)


def _recent() -> QuerySet[SentenceCharge]:
    return SentenceCharge.objects.filter(_is_recent())


def limit_of(user: User) -> int:
    """Return the number of sentences this account may queue in 24 hours; 0 = no limit. Ignores that staff are
    exempt."""
    limit = user.max_sentences_per_day
    return settings.GYM_MAX_SENTENCES_PER_DAY if limit is None else limit


def _check(user: User, used: int, n_sentences: int) -> None:
    limit = limit_of(user)
    if not limit or used + n_sentences <= limit:
        return
    if n_sentences > limit:
        raise TooManySentences(
            f"This request has {n_sentences:,} sentences; the limit per account is {limit:,} a day.", None
        )
    queued = f"{used:,} sentence{'' if used == 1 else 's'}"
    raise TooManySentences(
        f"You queued {queued} in the last 24 hours. Queueing {n_sentences:,} more would exceed the limit of {limit:,} "
        "a day.",
        _seconds_until(user, used + n_sentences - limit),
    )


def _seconds_until(user: User, surplus: int) -> int:
    """Return the seconds until charges for `surplus` sentences are more than a day old."""
    now = timezone.now()
    for created, n in _recent().filter(owner=user).order_by("created").values_list("created", "n_sentences"):
        surplus -= n
        if surplus <= 0:
            return max(1, int((created + DAY - now).total_seconds()) + 1)
    return int(DAY.total_seconds())
