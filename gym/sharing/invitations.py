"""Use cases of invitations: nobody becomes an editor, a viewer or an owner who has not agreed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from gym.accounts.models import User
from gym.conflicts import Conflict
from gym.notices.models import Notice
from gym.notices.services import forget, mark_read, tell
from gym.sharing.models import Invitation, Offer, Role
from gym.sharing.selectors import invited_to, stands
from gym.sharing.services import (
    MAX_COLLABORATORS,
    hand_over,
    hold,
    noun_of,
    require_owner,
    require_role,
)

MAX_OPEN = 50
"""Invitations of one account that nobody has answered; staff has no limit."""
PAUSE = timedelta(days=1)
"""Who declined is not asked again before."""
GONE = "This invitation is no longer open."


def invite(thing: Any, username: str, role: str, *, actor: User) -> Invitation:
    """Ask the account of this name to edit or view the thing."""
    require_owner(actor, thing)
    require_role(role)
    user = get_user_model().objects.filter(username=username.strip(), is_active=True).first()
    if user is None:
        raise ValidationError(f"There is no account called {username.strip()}.")
    with transaction.atomic():
        hold_both(actor, user)
        hold(thing)
        if user.pk == thing.owner_id:
            raise ValidationError(f"{user.username} owns this {noun_of(thing)}.")
        if thing.collaborations.filter(user=user).exists():
            raise ValidationError(f"{user.username} is a collaborator already.")
        asked = invited_to(thing).exclude(role=Offer.OWNER).count()
        if thing.collaborations.count() + asked >= MAX_COLLABORATORS:
            raise ValidationError(
                f"There are {MAX_COLLABORATORS} collaborators and invitations already; more are not possible."
            )
        return _offer(thing, user, role, actor)


def offer_ownership(thing: Any, collaboration: Any, *, actor: User) -> Invitation:
    """Ask an editing collaborator to become the owner. Until then everything stays as it is."""
    require_owner(actor, thing)
    with transaction.atomic():
        hold_both(actor, collaboration.user)
        hold(thing)
        collaboration = thing.collaborations.select_related("user").filter(pk=collaboration.pk).first()
        if collaboration is None:
            raise Conflict
        if collaboration.role != Role.EDIT:
            raise ValidationError(f"Only somebody who can edit the {noun_of(thing)} can become its owner.")
        return _offer(thing, collaboration.user, Offer.OWNER, actor)


def _offer(thing: Any, user: User, role: str, actor: User) -> Invitation:
    before = thing.invitations.filter(invited=user).first()
    if before is not None:
        if before.declined is not None and timezone.now() - before.declined < PAUSE:
            raise ValidationError(
                f"{user.username} declined less than a day ago. Invite them again tomorrow."
            )
        if before.declined is None and before.owner_id == thing.owner_id:
            raise ValidationError(f"{user.username} is invited already.")
        before.delete()
    mine = Invitation.objects.filter(inviter=actor, declined=None).count()
    if mine >= MAX_OPEN and not actor.is_staff:
        raise ValidationError(f"{MAX_OPEN} invitations of yours are not answered yet. Withdraw one first.")
    made: Invitation = thing.invitations.create(invited=user, inviter=actor, owner=thing.owner, role=role)
    what = f"{noun_of(thing)} {thing}"
    text = f"offers you the {what}" if role == Offer.OWNER else f"invites you to the {what}"
    address = f"{reverse('home')}#invitations"
    tell(user, Notice.Kind.SHARED, f"{actor.display_name} {text}.", address, about=_about(made))
    return made


def _about(invitation: Invitation) -> str:
    return f"invitation {invitation.content_type_id} {invitation.object_id}"


def hold_both(actor: User, user: User) -> None:
    """Lock two accounts, in an order that is always the same."""
    for one in sorted({actor.pk: actor, user.pk: user}.items()):
        one[1].hold()


def change_offer(thing: Any, invitation: Invitation, role: str, *, actor: User) -> None:
    """Another role than the one that was offered."""
    require_owner(actor, thing)
    require_role(role)
    if not invited_to(thing).filter(pk=invitation.pk).exclude(role=Offer.OWNER).update(role=role):
        raise Conflict(GONE)
    invitation.role = role


def withdraw(thing: Any, invitation: Invitation, *, actor: User) -> None:
    require_owner(actor, thing)
    with transaction.atomic():
        forget(invitation.invited, _about(invitation))
        if not invited_to(thing).filter(pk=invitation.pk).delete()[0]:
            raise Conflict(GONE)


def accept(invitation: Invitation, *, actor: User) -> Any:
    """Take what is offered. Returns the thing."""
    thing = invitation.thing
    if thing is None:
        raise Conflict(GONE)
    with transaction.atomic():
        actor.hold()  # accounts first, then things: the same order everywhere
        mark_read(actor, about=_about(invitation))
        hold(thing)
        mine = Invitation.objects.select_for_update(of=("self",)).select_related("inviter", "owner")
        offer = mine.filter(pk=invitation.pk, invited=actor, declined=None).first()
        if offer is None or not stands(offer, thing):
            raise Conflict(GONE)
        if offer.role == Offer.OWNER:
            hand_over(thing, actor)
        else:
            offer.delete()
            thing.collaborations.get_or_create(user=actor, defaults={"role": offer.role})
    return thing


def decline(invitation: Invitation, *, actor: User) -> None:
    mine = Invitation.objects.filter(pk=invitation.pk, invited=actor, declined=None)
    with transaction.atomic():
        mark_read(actor, about=_about(invitation))
        if not mine.update(declined=timezone.now()):
            raise Conflict(GONE)
