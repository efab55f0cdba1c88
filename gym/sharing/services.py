"""Use cases for collaboration. A `thing` is any row with an `owner`, `collaborations` and `invitations` (a suite, a
model, reference answers, …). Users become collaborators through invitations.py."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from gym.accounts.models import User
from gym.accounts.quotas import require_room_for
from gym.conflicts import Conflict
from gym.secrets import forget_secrets
from gym.sharing.models import Role
from gym.sharing.permissions import owns
from gym.sharing.selectors import tables, things_of

MAX_COLLABORATORS = 100


def set_role(thing: Any, collaboration: Any, role: str, *, actor: User) -> None:
    require_owner(actor, thing)
    require_role(role)
    with transaction.atomic():
        hold(thing)
        if not thing.collaborations.filter(pk=collaboration.pk).update(role=role):
            raise Conflict
        _forget_offers(thing, collaboration)
    collaboration.role = role


def remove_collaborator(thing: Any, collaboration: Any, *, actor: User) -> None:
    """Remove a collaborator. The owner and staff may remove anyone; collaborators may remove themselves."""
    if collaboration.user_id != actor.pk:
        require_owner(actor, thing)
    with transaction.atomic():
        hold(thing)
        collaboration.delete()
        _forget_offers(thing, collaboration)


def hand_over(thing: Any, heir: User) -> None:
    """Make an editing collaborator the owner. Call with `thing` locked by `hold`. The previous owner becomes an editor;
    secrets (keys of other servers, variables) and open invitations are deleted."""
    if not thing.collaborations.filter(user=heir, role=Role.EDIT).exists():
        raise Conflict
    require_room_for(thing, heir)
    previous, thing.owner = thing.owner, heir
    changed = [name for name in ("owner", "updated") if hasattr(thing, name)]
    thing.save(update_fields=changed)
    settle_owner(thing)
    if previous.is_active:
        thing.collaborations.update_or_create(user=previous, defaults={"role": Role.EDIT})


def settle_owner(thing: Any) -> None:
    """Clean up after a change of owner: delete the new owner's collaboration, open invitations and secrets."""
    thing.collaborations.filter(user=thing.owner).delete()
    thing.invitations.filter(declined=None).delete()
    forget_secrets(thing)


def hold_all_of(owner: User) -> None:
    """Lock all objects that the account owns, so that no collaborator can be added in the meantime."""
    for table in tables():
        kind = things_of(table)
        list(kind._base_manager.select_for_update().filter(owner=owner).order_by("pk").values_list("pk"))


def _forget_offers(thing: Any, collaboration: Any) -> None:
    """Delete open offers of ownership to this collaborator."""
    thing.invitations.filter(invited=collaboration.user_id, declined=None).delete()


def hold(thing: Any) -> None:
    """Lock and refresh the object. Raises Conflict if its owner has changed."""
    owner = thing.owner_id
    thing.refresh_from_db(from_queryset=type(thing)._base_manager.select_for_update())
    if thing.owner_id != owner:
        raise Conflict


def require_owner(actor: User, thing: Any) -> None:
    if not owns(actor, thing):
        raise PermissionDenied(f"only its owner may share this {noun_of(thing)}")


def noun_of(thing: Any) -> str:
    return str(thing._meta.verbose_name)


def require_role(role: str) -> None:
    if role not in Role.values:
        raise ValidationError(f"Choose one of {', '.join(Role.values)}.")
