"""The only writer of notifications and of `User.unread_notices`, the number that every page shows.

The number is recounted, with the account locked, in the transaction that changes notices. Callers that lock other rows
must lock the account first, or two transactions can deadlock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from gym.accounts.models import User
from gym.notices import mail
from gym.notices.models import Notice

KEPT = timedelta(days=90)
"""Age at which notices are deleted, read or not."""


def notify(user: User, kind: str, text: str, address: str, *, about: str = "", by_mail: bool = True) -> None:
    """Notify a user, replacing an earlier notice with the same `about` key. If the user opted in, an e-mail is sent
    after the transaction commits."""
    with _counted(user.pk) as notices:
        notices.filter(created__lt=timezone.now() - KEPT).delete()
        if about:
            notices.filter(about=about).delete()
        notices.create(user=user, kind=kind, text=_one_line(text), address=address, about=about)
    if by_mail:
        mail.send_after_commit(user.pk, kind)


def mark_read(user: User, keys: Iterable[int] | None = None, *, about: str = "") -> None:
    """Mark all notices as read, or only those with these primary keys (`keys`) or this `about` key."""
    with _counted(user.pk) as notices:
        rows = notices.filter(read=None)
        rows = rows if keys is None else rows.filter(pk__in=list(keys))
        rows = rows.filter(about=about) if about else rows
        rows.update(read=timezone.now())


def forget(user: User, about: str) -> None:
    """Delete notices with this `about` key, which no longer apply."""
    with _counted(user.pk) as notices:
        notices.filter(about=about).delete()


def forget_old() -> int:
    """Delete old notices of all accounts and return their number."""
    old = Notice.objects.filter(created__lt=timezone.now() - KEPT)
    deleted = 0
    for key in list(old.order_by().values_list("user", flat=True).distinct()):
        with _counted(key) as notices:
            deleted += notices.filter(pk__in=old.values("pk")).delete()[0]
    return deleted


@contextmanager
def _counted(user: int) -> Iterator[QuerySet[Notice]]:
    """Lock the account, yield its notices for changes, then update its unread count."""
    with transaction.atomic():
        account = User.objects.filter(pk=user)
        list(account.select_for_update().values_list("pk"))
        notices = Notice.objects.filter(user=user)
        yield notices
        account.update(unread_notices=notices.filter(read=None).count())


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= Notice.TEXT else f"{line[: Notice.TEXT - 1]}…"
