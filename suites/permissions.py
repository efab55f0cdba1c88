"""Permissions on suites, used by services, pages and API."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied

from gym.accounts.models import AnyUser
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_edit, may_read, owns
from suites.models import Suite


def can_view(user: AnyUser, suite: Suite) -> bool:
    """Return True for public and unlisted suites; private ones are for owner, collaborators and staff."""
    if suite.visibility in {Visibility.PUBLIC, Visibility.UNLISTED}:
        return True
    return may_read(user, suite)


def can_edit(user: AnyUser, suite: Suite) -> bool:
    """Return True for the owner, staff and collaborators who may edit."""
    return may_edit(user, suite)


def require_edit(user: AnyUser, suite: Suite) -> None:
    if not can_edit(user, suite):
        raise PermissionDenied("you may not edit this suite")


def can_run(user: AnyUser, suite: Suite) -> bool:
    """Return True for any signed-in user who can see the suite."""
    return user.is_authenticated and can_view(user, suite)


def can_delete(user: AnyUser, suite: Suite) -> bool:
    return owns(user, suite)


def may_know_owner(user: AnyUser, suite: Suite) -> bool:
    """Return whether owner and authors may be shown. For unlisted suites, only owner, collaborators and staff see them,
    since other readers may be anonymous reviewers. No query if `collaborations` is prefetched."""
    if suite.visibility != Visibility.UNLISTED:
        return True
    if not user.is_authenticated:
        return False
    if user.is_staff or suite.owner_id == user.pk:
        return True
    return any(row.user_id == user.pk for row in suite.collaborations.all())
