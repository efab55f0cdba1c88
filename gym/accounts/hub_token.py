"""A member's access token for the Hugging Face Hub: stored encrypted, never shown again."""

from __future__ import annotations

import re

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from gym.accounts.models import User
from gym.secrets import reveal, sealed

_NAME = "hub_token"
_TOKEN = re.compile(r"[\x21-\x7e]{8,200}")


def has_token(user: User) -> bool:
    return _NAME in user.secrets


def store_token(value: str, *, actor: User) -> None:
    """Store the actor's token, replacing any earlier one. Raises ValidationError if it does not look like a token, and
    PermissionDenied if the actor is not signed in."""
    if not _TOKEN.fullmatch(value):
        raise ValidationError(
            {"token": "A token has 8 to 200 characters without spaces. Tokens of the Hub begin with hf_."}
        )
    _change(actor, value)


def delete_token(*, actor: User) -> None:
    _change(actor, None)


def reveal_token(user: User) -> str:
    """Decrypt a member's token, for a request about one of their models. "" if there is none. Raises SecretError."""
    return reveal(user.secrets, _NAME)


def _change(actor: User, value: str | None) -> None:
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to store a token")
    with transaction.atomic():
        actor.lock()
        actor.refresh_from_db(fields=["secrets"])
        actor.secrets = sealed(actor.secrets, {_NAME: value})
        actor.save(update_fields=["secrets"])
