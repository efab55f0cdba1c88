"""Who may do what with a suite. One table, asked by services, views and API alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.exceptions import PermissionDenied

from suites.models import Suite, SuiteCollaborator, Visibility

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User


def can_view(user: User | AnonymousUser, suite: Suite) -> bool:
    """Public and unlisted suites are for everybody who knows the address; private ones for their people and staff."""
    if suite.visibility in {Visibility.PUBLIC, Visibility.UNLISTED}:
        return True
    if not user.is_authenticated:
        return False
    return user.is_staff or suite.owner_id == user.pk or _role(user, suite) is not None


def can_edit(user: User | AnonymousUser, suite: Suite) -> bool:
    """Owner, staff and collaborators who may edit."""
    if not user.is_authenticated:
        return False
    return user.is_staff or suite.owner_id == user.pk or _role(user, suite) == SuiteCollaborator.Role.EDIT


def require_edit(user: User | AnonymousUser, suite: Suite) -> None:
    if not can_edit(user, suite):
        raise PermissionDenied("you may not edit this suite")


def can_run(user: User | AnonymousUser, suite: Suite) -> bool:
    """Running a model costs time, so it takes an account; otherwise whoever sees a suite may run it."""
    return user.is_authenticated and can_view(user, suite)


def can_delete(user: User | AnonymousUser, suite: Suite) -> bool:
    return user.is_authenticated and (user.is_staff or suite.owner_id == user.pk)


def can_share(user: User | AnonymousUser, suite: Suite) -> bool:
    """Say who else may edit and view: the owner and staff."""
    return can_delete(user, suite)


def can_see_people(user: User | AnonymousUser, suite: Suite) -> bool:
    """Who else works on a suite is known to those who do, and to staff."""
    return user.is_authenticated and (can_share(user, suite) or _role(user, suite) is not None)


def _role(user: User, suite: Suite) -> str | None:
    return suite.collaborations.filter(user=user).values_list("role", flat=True).first()
