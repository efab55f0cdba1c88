"""Confirmed e-mail addresses: a link mailed there was opened, or a trusted service vouches for the address. They are
rows of allauth's EmailAddress; the account's own field may hold any address."""

from __future__ import annotations

from allauth.account.models import EmailAddress

from gym.accounts.models import User


def confirm_address(user: User) -> None:
    """Record that the account's current address is confirmed."""
    forget_former_addresses(user)
    EmailAddress.objects.update_or_create(
        user=user, email=user.email.lower(), defaults={"verified": True, "primary": True}
    )


def has_confirmed_address(user: User) -> bool:
    """Return True if the account's current address is confirmed."""
    rows = EmailAddress.objects.filter(user=user, verified=True, email__iexact=user.email)
    return bool(user.email) and rows.exists()


def forget_former_addresses(user: User) -> None:
    """Delete the rows of addresses that the account no longer has."""
    EmailAddress.objects.filter(user=user).exclude(email__iexact=user.email).delete()
