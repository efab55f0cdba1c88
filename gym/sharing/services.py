"""Use cases for collaboration. An `obj` is any row with an `owner`, `collaborations` and `invitations` (a suite, a
model, reference answers, …). Users become collaborators through invitations.py."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from gym.accounts.models import User
from gym.accounts.quotas import require_quota_for
from gym.conflicts import Conflict
from gym.secrets import forget_secrets
from gym.sharing.models import Role
from gym.sharing.permissions import owns
from gym.sharing.selectors import shared_model, tables

MAX_COLLABORATORS = 100


def set_role(obj: Any, collaboration: Any, role: str, *, actor: User) -> None:
    require_owner(actor, obj)
    require_role(role)
    with transaction.atomic():
        lock_object(obj)
        if not obj.collaborations.filter(pk=collaboration.pk).update(role=role):
            raise Conflict
        _forget_offers(obj, collaboration)
    collaboration.role = role


def remove_collaborator(obj: Any, collaboration: Any, *, actor: User) -> None:
    """Remove a collaborator. The owner and staff may remove anyone; collaborators may remove themselves."""
    if collaboration.user_id != actor.pk:
        require_owner(actor, obj)
    with transaction.atomic():
        lock_object(obj)
        collaboration.delete()
        _forget_offers(obj, collaboration)


def hand_over(obj: Any, heir: User) -> None:
    """Make an editing collaborator the owner. Call with `obj` locked by `lock_object`. The previous owner, if
    active, becomes an editor; secrets (keys of other servers, variables) and open invitations are deleted. Raises
    Conflict if `heir` is no longer an editor, and OverQuota."""
    if not obj.collaborations.filter(user=heir, role=Role.EDIT).exists():
        raise Conflict
    require_quota_for(obj, heir)
    previous, obj.owner = obj.owner, heir
    changed = [name for name in ("owner", "updated") if hasattr(obj, name)]
    obj.save(update_fields=changed)
    settle_owner(obj)
    if previous.is_active:
        obj.collaborations.update_or_create(user=previous, defaults={"role": Role.EDIT})


def settle_owner(obj: Any) -> None:
    """Clean up after a change of owner: delete the new owner's collaboration, and the object's open invitations and
    secrets."""
    obj.collaborations.filter(user=obj.owner).delete()
    obj.invitations.filter(declined=None).delete()
    forget_secrets(obj)


def lock_all_of(owner: User) -> None:
    """Lock all objects that the account owns, so that no collaborator can be added in the meantime."""
    for table in tables():
        kind = shared_model(table)
        list(kind._base_manager.select_for_update().filter(owner=owner).order_by("pk").values_list("pk"))


def _forget_offers(obj: Any, collaboration: Any) -> None:
    """Delete open offers of ownership to this collaborator."""
    obj.invitations.filter(invited=collaboration.user_id, declined=None).delete()


def lock_object(obj: Any) -> None:
    """Lock and refresh the object. Raises Conflict if its owner has changed."""
    owner = obj.owner_id
    obj.refresh_from_db(from_queryset=type(obj)._base_manager.select_for_update())
    if obj.owner_id != owner:
        raise Conflict


def require_owner(actor: User, obj: Any) -> None:
    if not owns(actor, obj):
        raise PermissionDenied(f"only its owner and staff may share this {noun_of(obj)}")


def noun_of(obj: Any) -> str:
    return str(obj._meta.verbose_name)


def require_role(role: str) -> None:
    if role not in Role.values:
        raise ValidationError(f"Choose one of {', '.join(Role.values)}.")
