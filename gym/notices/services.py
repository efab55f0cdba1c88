"""The one place that writes notifications, and the number of unread ones that every page shows.

That number is a column of the account, which each request reads anyway. It is counted anew, with the account locked, in
the transaction that changes the notices. Whoever locks things before calling this locks the account before them.
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
"""Older ones are deleted, read or not."""


def tell(user: User, kind: str, text: str, address: str, *, about: str = "", by_mail: bool = True) -> None:
    """Notify somebody. An earlier notice `about` the same thing goes. The mail, for those who wish it, leaves once the
    transaction is committed."""
    with _counted(user.pk) as mine:
        mine.filter(created__lt=timezone.now() - KEPT).delete()
        if about:
            mine.filter(about=about).delete()
        mine.create(user=user, kind=kind, text=_one_line(text), address=address, about=about)
    if by_mail:
        mail.send_after_commit(user.pk, kind)


def mark_read(user: User, keys: Iterable[int] | None = None, *, about: str = "") -> None:
    """These notices of this person, those about something, or all."""
    with _counted(user.pk) as mine:
        rows = mine.filter(read=None)
        rows = rows if keys is None else rows.filter(pk__in=list(keys))
        rows = rows.filter(about=about) if about else rows
        rows.update(read=timezone.now())


def forget(user: User, about: str) -> None:
    """What they were told of is not so any more."""
    with _counted(user.pk) as mine:
        mine.filter(about=about).delete()


def forget_old() -> int:
    """Delete everybody's old notices; how many."""
    old = Notice.objects.filter(created__lt=timezone.now() - KEPT)
    deleted = 0
    for key in list(old.order_by().values_list("user", flat=True).distinct()):
        with _counted(key) as mine:
            deleted += mine.filter(pk__in=old.values("pk")).delete()[0]
    return deleted


@contextmanager
def _counted(user: int) -> Iterator[QuerySet[Notice]]:
    """Their notices, to be changed; of an account that has gone, none."""
    with transaction.atomic():
        account = User.objects.filter(pk=user)
        list(account.select_for_update().values_list("pk"))
        mine = Notice.objects.filter(user=user)
        yield mine
        account.update(unread_notices=mine.filter(read=None).count())


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= Notice.TEXT else f"{line[: Notice.TEXT - 1]}…"
