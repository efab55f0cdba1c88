"""Who may do what with a suite. One table, asked by services, views and API alike."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied

from gym.accounts.models import AnyUser
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit, may_read, owns
from suites.models import Suite


def can_view(user: AnyUser, suite: Suite) -> bool:
    """Public and unlisted suites are for everybody who knows the address; private ones for their people and staff."""
    if suite.visibility in {Visibility.PUBLIC, Visibility.UNLISTED}:
        return True
    return may_read(user, suite)


def can_edit(user: AnyUser, suite: Suite) -> bool:
    """Owner, staff and collaborators who may edit."""
    return may_edit(user, suite)


def require_edit(user: AnyUser, suite: Suite) -> None:
    if not can_edit(user, suite):
        raise PermissionDenied("you may not edit this suite")


def can_run(user: AnyUser, suite: Suite) -> bool:
    """Running a model costs time, so it takes an account; otherwise whoever sees a suite may run it."""
    return user.is_authenticated and can_view(user, suite)


def can_delete(user: AnyUser, suite: Suite) -> bool:
    return owns(user, suite)


def may_know_owner(user: AnyUser, suite: Suite) -> bool:
    """Whose an unlisted suite is, and who works with it, is known to its people and staff: its other readers review it.

    Asks no query where `collaborations` are prefetched."""
    if suite.visibility != Visibility.UNLISTED:
        return True
    if not user.is_authenticated:
        return False
    if user.is_staff or suite.owner_id == user.pk:
        return True
    return any(row.user_id == user.pk for row in suite.collaborations.all())
