"""Reads of who works on what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db.models import Q, QuerySet

from gym.sharing.models import THINGS, Collaboration, Role

if TYPE_CHECKING:
    from gym.accounts.models import User


def worked_on_by(user: User, thing: str, at: str = "", *, roles: Iterable[str] = Role.values) -> Q:
    """Rows whose owner or collaborator this is, within one query. `thing` is the column of Collaboration; `at` leads
    from the row to the thing, e.g. "corpus__"."""
    mine = Collaboration.objects.filter(user=user, role__in=roles, **{f"{thing}__isnull": False})
    shared = mine.values(thing)
    return Q(**{f"{at}owner": user}) | Q(**{f"{at}pk__in": shared})


def shares_of(user: User) -> QuerySet[Collaboration]:
    """What of others this person works on, suites excepted, with its owner and without the text of corpora."""
    owners = [f"{thing}__owner" for thing in THINGS]
    heavy = ["corpus__packed", "corpus__shown", "corpus__warnings", "model__facts"]
    return Collaboration.objects.filter(user=user).select_related(*owners).defer(*heavy).order_by("pk")
