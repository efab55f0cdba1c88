"""Who may do what with something that has an owner and collaborators (`thing.owner`, `thing.collaborations`)."""

from __future__ import annotations

from typing import Any

from gym.accounts.models import AnyUser
from gym.sharing.models import Role


def owns(user: AnyUser, thing: Any) -> bool:
    """The owner and staff: they delete, say who sees it and who works on it, and keep its secrets."""
    return bool(user.is_authenticated and (user.is_staff or thing.owner_id == user.pk))


def may_read(user: AnyUser, thing: Any) -> bool:
    """Its people, whatever their role."""
    return owns(user, thing) or role_of(user, thing) is not None


def may_edit(user: AnyUser, thing: Any) -> bool:
    return owns(user, thing) or role_of(user, thing) == Role.EDIT


def role_of(user: AnyUser, thing: Any) -> str | None:
    """A collaborator's role; None for everybody else, the owner included."""
    if not user.is_authenticated or thing.pk is None:
        return None
    found: str | None = thing.collaborations.filter(user=user).values_list("role", flat=True).first()
    return found
