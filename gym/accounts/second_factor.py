"""Two-factor authentication, on top of allauth.mfa: which accounts need it, secrets at rest, limits on tries."""

from __future__ import annotations

from typing import Any

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from gym import secrets
from gym.accounts.models import AnyUser, User
from gym.accounts.throttle import Limit, TooManyTries

FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
"""Second factors proper. Recovery codes come with one and go with the last one."""
MISSING = "This site requires two-factor authentication for your account. Set it up to continue."
CODE_SECONDS = 120
"""Time for which a code of an authenticator app may be valid, allowing for wrong clocks."""


def is_offered() -> bool:
    return bool(settings.GYM_REQUIRE_2FA != "off")


def is_required(user: AnyUser) -> bool:
    """Return True if the site requires a second factor for this account."""
    who = settings.GYM_REQUIRE_2FA
    return bool(user.is_authenticated and (who == "everyone" or (who == "staff" and user.is_staff)))


def has_factor(user: AnyUser) -> bool:
    return bool(Authenticator.objects.filter(user_id=user.pk, type__in=FACTORS).exists())


def is_missing(user: AnyUser) -> bool:
    """Return True if the account can do nothing before it has a second factor."""
    return is_required(user) and not has_factor(user)


def reset(user: User) -> int:
    """Delete all second factors of an account whose owner has lost them; return how many."""
    n_deleted: int = Authenticator.objects.filter(user=user).delete()[0]
    return n_deleted


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # allauth is untyped
    """The site's rules for allauth.mfa."""

    def is_mfa_enabled(self, user: AnyUser, types: Any = None) -> bool:
        """Return True if a second factor is asked for: not while the site does not offer them."""
        return is_offered() and bool(super().is_mfa_enabled(user, types))

    def encrypt(self, text: str) -> str:
        return secrets.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        try:
            return secrets.decrypt(encrypted_text)
        except secrets.SecretError as error:
            raise ValidationError(
                "Your second factor cannot be checked, because the site's key has changed. Ask the administrators to "
                "reset it."
            ) from error

    def get_totp_label(self, user: User) -> str:
        return user.username

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:
        number = Authenticator.objects.filter(user=user, type=type).count() + 1
        return "Passkey" if number == 1 else f"Passkey {number}"

    def get_public_key_credential_user_entity(self, user: User) -> dict[str, Any]:
        entity: dict[str, Any] = super().get_public_key_credential_user_entity(user)
        return entity | {"name": user.username, "display_name": user.display_name}


class _Plain(forms.Form):
    """A code without a placeholder that repeats its label."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].widget.attrs.pop("placeholder", None)


class _OneUse(_Plain):
    """Accept each code once, whichever web process sees it; allauth itself remembers codes per process."""

    user: User

    def clean_code(self) -> str:
        code: str = super().clean_code()  # type: ignore[misc]
        try:
            Limit("second factor code", 1, CODE_SECONDS).take(f"{self.user.pk} {code}")
        except TooManyTries:
            raise ValidationError("This code has been used. Wait for the next one.") from None
        return code


class CodeForm(_OneUse, AuthenticateForm):  # type: ignore[misc]  # allauth is untyped
    pass


class CodeAgainForm(_OneUse, ReauthenticateForm):  # type: ignore[misc]  # allauth is untyped
    pass


class NewAppForm(_Plain, ActivateTOTPForm):  # type: ignore[misc]  # allauth is untyped
    pass
