"""Use cases for invitations: users become editors, viewers or owners only after they accept."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from gym.accounts.models import User
from gym.conflicts import Conflict
from gym.notices.models import Notice
from gym.notices.services import forget, mark_read, notify
from gym.sharing.models import Invitation, Offer, Role
from gym.sharing.selectors import invitations_of, invited_to, is_valid
from gym.sharing.services import (
    MAX_COLLABORATORS,
    hand_over,
    lock_object,
    noun_of,
    require_owner,
    require_role,
)

MAX_OPEN = 50
"""Maximum number of people with open invitations sent by one account; staff have no limit."""
PAUSE = timedelta(days=1)
"""Minimum time before a user who declined can be invited again."""
GONE = "This invitation is no longer open."


def invite(obj: Any, username: str, role: str, *, actor: User, by_mail: bool = True) -> Invitation:
    """Invite an account to edit or view the object. `by_mail`: also send an e-mail, if the account wants it.

    Raises ValidationError if the account is unknown or deactivated, owns the object, is a collaborator, is already
    invited or has declined recently, or if there are too many collaborators or invitations; PermissionDenied unless the
    actor is the owner or staff."""
    require_owner(actor, obj)
    require_role(role)
    user = get_user_model().objects.filter(username=username.strip(), is_active=True).first()
    if user is None:
        raise ValidationError(f"There is no account called {username.strip()}.")
    with transaction.atomic():
        lock_both(actor, user)
        lock_object(obj)
        if user.pk == obj.owner_id:
            raise ValidationError(f"{user.username} owns this {noun_of(obj)}.")
        if obj.collaborations.filter(user=user).exists():
            raise ValidationError(f"{user.username} is already a collaborator.")
        n_invited = invited_to(obj).exclude(role=Offer.OWNER).count()
        if obj.collaborations.count() + n_invited >= MAX_COLLABORATORS:
            raise ValidationError(
                f"The limit of {MAX_COLLABORATORS} collaborators and invitations is reached."
            )
        return _offer(obj, user, role, actor, by_mail=by_mail)


def offer_ownership(obj: Any, collaboration: Any, *, actor: User) -> Invitation:
    """Invite an editing collaborator to become the owner. Nothing changes until they accept."""
    require_owner(actor, obj)
    with transaction.atomic():
        lock_both(actor, collaboration.user)
        lock_object(obj)
        collaboration = obj.collaborations.select_related("user").filter(pk=collaboration.pk).first()
        if collaboration is None:
            raise Conflict
        if collaboration.role != Role.EDIT:
            raise ValidationError(f"Only an editor of the {noun_of(obj)} can become its owner.")
        return _offer(obj, collaboration.user, Offer.OWNER, actor)


def _offer(obj: Any, user: User, role: str, actor: User, *, by_mail: bool = True) -> Invitation:
    earlier = obj.invitations.filter(invited=user).first()
    if earlier is not None:
        if earlier.declined is not None and timezone.now() - earlier.declined < PAUSE:
            raise ValidationError(
                f"{user.username} declined less than a day ago. Invite them again tomorrow."
            )
        if earlier.declined is None and earlier.owner_id == obj.owner_id:
            raise ValidationError(f"{user.username} is already invited.")
        earlier.delete()
    others = Invitation.objects.filter(inviter=actor, declined=None).exclude(invited=user)
    if others.values("invited").distinct().count() >= MAX_OPEN and not actor.is_staff:
        raise ValidationError(
            f"Your invitations to {MAX_OPEN} people are still open. Wait for an answer, or withdraw the "
            "invitations to one of them."
        )
    invitation: Invitation = obj.invitations.create(invited=user, inviter=actor, owner=obj.owner, role=role)
    _tell(invitation, obj, by_mail=by_mail)
    return invitation


def _tell(invitation: Invitation, obj: Any, *, by_mail: bool) -> None:
    """Notify the invited user. One notice covers all open invitations from the same account, so that sharing many
    objects at once is one notice."""
    what = f"{noun_of(obj)} {obj}"
    text = f"offers you the {what}" if invitation.role == Offer.OWNER else f"invites you to the {what}"
    n_more = _open_from(invitation).exclude(pk=invitation.pk).count()
    more = f" and {n_more} more" if n_more else ""
    notify(
        invitation.invited,
        Notice.Kind.SHARED,
        f"{invitation.inviter.display_name} {text}{more}.",
        f"{reverse('home')}#invitations",
        about=_about(invitation),
        by_mail=by_mail,
    )


def _about(invitation: Invitation) -> str:
    return f"invitations from {invitation.inviter_id}"


def _open_from(invitation: Invitation) -> QuerySet[Invitation]:
    """Return the open invitations from the same account to the same account."""
    return Invitation.objects.filter(
        invited=invitation.invited_id, inviter=invitation.inviter_id, declined=None
    )


def lock_both(actor: User, user: User) -> None:
    """Lock two accounts in a fixed order, which prevents deadlocks."""
    for _, account in sorted({actor.pk: actor, user.pk: user}.items()):
        account.lock()


def change_offer(obj: Any, invitation: Invitation, role: str, *, actor: User) -> None:
    """Change the role that an open invitation offers. Raises Conflict for an offer of ownership."""
    require_owner(actor, obj)
    require_role(role)
    if not invited_to(obj).filter(pk=invitation.pk).exclude(role=Offer.OWNER).update(role=role):
        raise Conflict(GONE)
    invitation.role = role


def withdraw(obj: Any, invitation: Invitation, *, actor: User) -> None:
    require_owner(actor, obj)
    with transaction.atomic():
        if not _open_from(invitation).exclude(pk=invitation.pk).exists():
            forget(invitation.invited, _about(invitation))
        if not invited_to(obj).filter(pk=invitation.pk).delete()[0]:
            raise Conflict(GONE)


def accept(invitation: Invitation, *, actor: User) -> Any:
    """Accept an invitation and return the object. Raises Conflict if it is no longer valid, and OverQuota if the new
    owner may not keep another such object."""
    obj = invitation.thing
    if obj is None:
        raise Conflict(GONE)
    with transaction.atomic():
        actor.lock()  # lock order: accounts before objects, as everywhere, so that requests cannot deadlock
        mark_read(actor, about=_about(invitation))
        lock_object(obj)
        mine = Invitation.objects.select_for_update(of=("self",)).select_related("inviter", "owner")
        offer = mine.filter(pk=invitation.pk, invited=actor, declined=None).first()
        if offer is None or not is_valid(offer, obj):
            raise Conflict(GONE)
        if offer.role == Offer.OWNER:
            hand_over(obj, actor)
        else:
            offer.delete()
            obj.collaborations.get_or_create(user=actor, defaults={"role": offer.role})
    return obj


def accept_all(inviter: int, *, actor: User) -> list[Any]:
    """Accept the actor's open invitations from an account, except offers of ownership. Returns the objects."""
    accepted = []
    for invitation in invitations_of(actor):
        if invitation.inviter_id == inviter and invitation.role != Offer.OWNER:
            with suppress(Conflict):  # withdrawn in the meantime
                accepted.append(accept(invitation, actor=actor))
    return accepted


def decline(invitation: Invitation, *, actor: User) -> None:
    mine = Invitation.objects.filter(pk=invitation.pk, invited=actor, declined=None)
    with transaction.atomic():
        mark_read(actor, about=_about(invitation))
        if not mine.update(declined=timezone.now()):
            raise Conflict(GONE)
