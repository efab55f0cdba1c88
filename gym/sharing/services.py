"""Use cases of collaboration: who may edit or view something besides its owner. A thing has an `owner` and
`collaborations`: a suite, an answer set, a model ..."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from gym.accounts.quotas import require_room_for
from gym.conflicts import Conflict
from gym.secrets import forget_secrets
from gym.sharing.models import Role
from gym.sharing.permissions import owns

if TYPE_CHECKING:
    from gym.accounts.models import User

MAX_COLLABORATORS = 100


def add_collaborator(thing: Any, username: str, role: str, *, actor: User) -> Any:
    """Let the account of this name edit or view the thing."""
    require_owner(actor, thing)
    _require_role(role)
    user = get_user_model().objects.filter(username=username.strip(), is_active=True).first()
    if user is None:
        raise ValidationError(f"There is no account called {username.strip()}.")
    with transaction.atomic():
        _hold(thing)
        if user.pk == thing.owner_id:
            raise ValidationError(f"{user.username} owns this {noun_of(thing)}.")
        if thing.collaborations.filter(user=user).exists():
            raise ValidationError(f"{user.username} is a collaborator already.")
        if thing.collaborations.count() >= MAX_COLLABORATORS:
            raise ValidationError(
                f"There are {MAX_COLLABORATORS} collaborators already; more are not possible."
            )
        return thing.collaborations.create(user=user, role=role)


def set_role(thing: Any, collaboration: Any, role: str, *, actor: User) -> None:
    require_owner(actor, thing)
    _require_role(role)
    if not thing.collaborations.filter(pk=collaboration.pk).update(role=role):
        raise Conflict
    collaboration.role = role


def remove_collaborator(thing: Any, collaboration: Any, *, actor: User) -> None:
    """The owner and staff remove anybody; everybody may remove themselves."""
    if collaboration.user_id != actor.pk:
        require_owner(actor, thing)
    collaboration.delete()


def hand_over(thing: Any, collaboration: Any, *, actor: User) -> None:
    """Make an editing collaborator the owner. The owner of before stays as somebody who may edit; secrets (keys of
    other servers, variables) do not change hands and are forgotten."""
    require_owner(actor, thing)
    with transaction.atomic():
        _hold(thing)
        collaboration = thing.collaborations.select_related("user").filter(pk=collaboration.pk).first()
        if collaboration is None:
            raise Conflict
        if collaboration.role != Role.EDIT:
            raise ValidationError(f"Only somebody who may edit the {noun_of(thing)} can become its owner.")
        require_room_for(thing, collaboration.user)
        before, thing.owner = thing.owner, collaboration.user
        collaboration.delete()
        changed = [name for name in ("owner", "updated") if hasattr(thing, name)]
        thing.save(update_fields=changed)
        forget_secrets(thing)
        if before.is_active:
            thing.collaborations.create(user=before, role=Role.EDIT)


def _hold(thing: Any) -> None:
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


def _require_role(role: str) -> None:
    if role not in Role.values:
        raise ValidationError(f"Choose one of {', '.join(Role.values)}.")
