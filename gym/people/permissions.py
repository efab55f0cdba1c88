"""Permissions on human data. Data are visible to everyone who may see both them and their suite."""

from __future__ import annotations

from gym.accounts.models import AnyUser
from gym.people.models import HumanData
from gym.sharing.permissions import may_edit, owns
from suites import permissions as suite_permissions


def can_edit(user: AnyUser, data: HumanData) -> bool:
    """Return True for the owner, staff and collaborators who may edit: details and exclusions."""
    return may_edit(user, data)


def can_manage(user: AnyUser, data: HumanData) -> bool:
    """Return True for owner and staff, who may publish and delete the data."""
    return owns(user, data)


def may_know_owner(user: AnyUser, data: HumanData) -> bool:
    """Return whether owner and authors may be shown; those of data of unlisted suites may not, for anonymous review."""
    return suite_permissions.may_know_owner(user, data.revision.suite)
