"""Services connected to an account."""

from __future__ import annotations

from dataclasses import dataclass

from allauth.socialaccount.models import SocialAccount
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from gym.accounts.external import kinds
from gym.accounts.models import User


@dataclass(frozen=True)
class Connection:
    account: SocialAccount
    label: str
    who: str
    """The person's name or address there."""


def connections_of(user: User) -> list[Connection]:
    return [
        Connection(account, kinds.label_of(account.provider), _who(account))
        for account in SocialAccount.objects.filter(user=user).order_by("date_joined", "pk")
    ]


def disconnect(account: SocialAccount, *, actor: User) -> None:
    """Disconnect a service from the actor's account. Raises ValidationError if it is the only way to sign in."""
    if account.user_id != actor.pk:
        raise PermissionDenied("this connection belongs to another account")
    with transaction.atomic():
        actor.lock()
        others = SocialAccount.objects.filter(user=actor).exclude(pk=account.pk)
        if not actor.has_usable_password() and not any(kinds.is_on(row.provider) for row in others):
            raise ValidationError(
                "This is the only way to sign in to your account. Connect another one first."
            )
        account.delete()


def _who(account: SocialAccount) -> str:
    names = ("preferred_username", "login", "username", "name", "email")
    return next(
        (str(account.extra_data[name]) for name in names if account.extra_data.get(name)), account.uid
    )
