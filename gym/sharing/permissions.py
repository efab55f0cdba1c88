"""Permissions on an object with `owner` and `collaborations`."""

from __future__ import annotations

from typing import Any

from gym.accounts.models import AnyUser
from gym.sharing.models import Role


def owns(user: AnyUser, obj: Any) -> bool:
    """Return True for owner and staff. They may delete and share the object, change its visibility, and
    manage its secrets."""
    return bool(user.is_authenticated and (user.is_staff or obj.owner_id == user.pk))


def may_read(user: AnyUser, obj: Any) -> bool:
    """Return True for owner, staff and collaborators of any role."""
    return owns(user, obj) or role_of(user, obj) is not None


def may_edit(user: AnyUser, obj: Any) -> bool:
    return owns(user, obj) or role_of(user, obj) == Role.EDIT


def role_of(user: AnyUser, obj: Any) -> str | None:
    """Return a collaborator's role; None for everybody else, including the owner."""
    if not user.is_authenticated or obj.pk is None:
        return None
    role: str | None = obj.collaborations.filter(user=user).values_list("role", flat=True).first()
    return role
