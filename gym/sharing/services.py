"""Use cases of collaboration: who may edit or view something besides its owner. A thing has an `owner`,
`collaborations` and `invitations`: a suite, an answer set, a model ... How somebody becomes one: invitations.py."""

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
    """The owner and staff remove anybody; everybody may remove themselves."""
    if collaboration.user_id != actor.pk:
        require_owner(actor, thing)
    with transaction.atomic():
        hold(thing)
        collaboration.delete()
        _forget_offers(thing, collaboration)


def hand_over(thing: Any, heir: User) -> None:
    """Make an editing collaborator the owner; `thing` is held. The owner of before stays as somebody who may edit;
    secrets (keys of other servers, variables) do not change hands and are forgotten, and so are open invitations."""
    if not thing.collaborations.filter(user=heir, role=Role.EDIT).exists():
        raise Conflict
    require_room_for(thing, heir)
    before, thing.owner = thing.owner, heir
    changed = [name for name in ("owner", "updated") if hasattr(thing, name)]
    thing.save(update_fields=changed)
    settle_owner(thing)
    if before.is_active:
        thing.collaborations.update_or_create(user=before, defaults={"role": Role.EDIT})


def settle_owner(thing: Any) -> None:
    """What ends when a thing has got another owner: their place as a collaborator, open invitations, and secrets."""
    thing.collaborations.filter(user=thing.owner).delete()
    thing.invitations.filter(declined=None).delete()
    forget_secrets(thing)


def hold_all_of(owner: User) -> None:
    """Lock everything that the account owns, so that nobody becomes a collaborator of it meanwhile."""
    for table in tables():
        kind = things_of(table)
        list(kind._base_manager.select_for_update().filter(owner=owner).order_by("pk").values_list("pk"))


def _forget_offers(thing: Any, collaboration: Any) -> None:
    """Of ownership, which go with the place that they were made to."""
    thing.invitations.filter(invited=collaboration.user_id, declined=None).delete()


def hold(thing: Any) -> None:
    """The thing as it is now, locked. Raises Conflict when it has got another owner meanwhile."""
    owner = thing.owner_id
    thing.refresh_from_db(from_queryset=type(thing)._base_manager.select_for_update())
    if thing.owner_id != owner:
        raise Conflict


def require_owner(actor: User, thing: Any) -> None:
    if not owns(actor, thing):
        raise PermissionDenied(f"only its owner decides who works on this {noun_of(thing)}")


def noun_of(thing: Any) -> str:
    return str(thing._meta.verbose_name)


def require_role(role: str) -> None:
    if role not in Role.values:
        raise ValidationError(f"Choose one of {', '.join(Role.values)}.")
