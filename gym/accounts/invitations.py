"""Invitations by mail: staff invite people, who create their own account with the link, also where sign-up is closed.
(Invitations to share an object are in gym.sharing.)"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from gym.accounts.confirmed import confirm_address
from gym.accounts.models import AccountInvitation, User
from gym.conflicts import Conflict

MAX_ADDRESSES = 100
"""Number of people invited in one step."""
KEEP = timedelta(days=30)
"""How long an invitation, accepted or not, stays in the list after its link has expired."""
SESSION_KEY = "account_invitation"

Mailed = tuple[AccountInvitation, str]
"""An invitation and the secret part of its link."""


def invite(
    addresses: Iterable[str], *, actor: User, is_staff: bool = False, groups: Sequence[Group] = ()
) -> list[Mailed]:
    """Create an invitation for each address; the caller mails the links.

    Raises ValidationError for invalid addresses, too many, and those of people who are invited or have an account
    already; PermissionDenied unless the actor is staff, and a superuser to give rights."""
    _require_staff(actor)
    if (is_staff or groups) and not actor.is_superuser:
        raise PermissionDenied("only superusers give rights")
    unique = list(dict.fromkeys(address.strip().lower() for address in addresses if address.strip()))
    if not unique:
        raise ValidationError("Enter at least one e-mail address.")
    if len(unique) > MAX_ADDRESSES:
        raise ValidationError(f"Invite at most {MAX_ADDRESSES} people at once.")
    if errors := [problem for address in unique if (problem := _problem_with(address))]:
        raise ValidationError(errors)
    made: list[Mailed] = []
    with transaction.atomic():
        for address in unique:
            plain, digest = _new_token()
            invitation = AccountInvitation.objects.create(
                email=address, digest=digest, inviter=actor, is_staff=is_staff, expires=_expiry()
            )
            invitation.groups.set(groups)
            made.append((invitation, plain))
    return made


def resend(invitation: AccountInvitation, *, actor: User) -> Mailed:
    """Renew an invitation: the earlier link no longer works. Raises Conflict if it was accepted, PermissionDenied as
    `invite` does."""
    _require_staff(actor)
    _require_rights_of(invitation, actor)
    plain, digest = _new_token()
    renewed = AccountInvitation.objects.filter(pk=invitation.pk, accepted=None)
    if not renewed.update(digest=digest, sent=timezone.now(), expires=_expiry()):
        raise Conflict("This invitation was accepted or revoked.")
    invitation.refresh_from_db()
    return invitation, plain


def revoke(invitation: AccountInvitation, *, actor: User) -> None:
    """Delete an open invitation, so that its link no longer works. Raises Conflict if it was accepted."""
    _require_staff(actor)
    if not AccountInvitation.objects.filter(pk=invitation.pk, accepted=None).delete()[0]:
        raise Conflict("This invitation was accepted or revoked.")


def open_invitations() -> QuerySet[AccountInvitation]:
    """Return the invitations that were not accepted, also expired ones."""
    invitations = AccountInvitation.objects.filter(accepted=None)
    return invitations.select_related("inviter").prefetch_related("groups")


def find(plain: str) -> AccountInvitation | None:
    """Return the invitation of a link if it can still be accepted."""
    return AccountInvitation.objects.filter(
        digest=_digest_of(plain), accepted=None, expires__gt=timezone.now()
    ).first()


def accept(invitation: AccountInvitation, user: User) -> None:
    """Give a new account what its invitation promises: a confirmed address, staff status, groups. Raises Conflict if
    the invitation was used, revoked or has expired."""
    now = timezone.now()
    usable = AccountInvitation.objects.filter(pk=invitation.pk, accepted=None, expires__gt=now)
    with transaction.atomic():
        if not usable.update(accepted=now, account=user):
            raise Conflict("This invitation was used or revoked, or has expired. Ask for a new one.")
        user.email = invitation.email
        user.is_staff = user.is_staff or invitation.is_staff
        user.save(update_fields=["email", "is_staff"])
        user.groups.add(*invitation.groups.all())
        confirm_address(user)


def drop_old() -> int:
    """Delete invitations whose links expired KEEP ago, accepted or not; return how many."""
    return AccountInvitation.objects.filter(expires__lt=timezone.now() - KEEP).delete()[0]


def of_session(request: HttpRequest) -> AccountInvitation | None:
    """Return the invitation whose link was opened in this browser, if it can still be accepted."""
    plain = request.session.get(SESSION_KEY)
    return find(plain) if plain else None


def enter_session(request: HttpRequest, plain: str) -> None:
    request.session[SESSION_KEY] = plain


def leave_session(request: HttpRequest) -> None:
    request.session.pop(SESSION_KEY, None)


def _require_staff(actor: User) -> None:
    if not (actor.is_authenticated and actor.is_staff):
        raise PermissionDenied("only staff invite people")


def _require_rights_of(invitation: AccountInvitation, actor: User) -> None:
    if not actor.is_superuser and (invitation.is_staff or invitation.groups.exists()):
        raise PermissionDenied("only superusers give rights")


def _problem_with(address: str) -> str:
    try:
        validate_email(address)
    except ValidationError:
        return f"{address} is not an e-mail address."
    if AccountInvitation.objects.filter(email=address, accepted=None).exists():
        return f"{address} is invited already. Resend the invitation instead."
    if User.objects.filter(email__iexact=address).exists():
        return f"{address} belongs to an account already."
    return ""


def _expiry() -> datetime:
    return timezone.now() + timedelta(days=settings.GYM_INVITATION_DAYS)


def _new_token() -> tuple[str, str]:
    plain = AccountInvitation.MARK + secrets.token_urlsafe(32)
    return plain, _digest_of(plain)


def _digest_of(plain: str) -> str:
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()
