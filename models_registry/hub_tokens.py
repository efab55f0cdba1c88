"""Choice of the Hugging Face Hub token for a model: its owner's, else this site's if staff approved the model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.conf import settings

from gym.accounts.hub_token import has_token, reveal_token
from gym.accounts.models import AnyUser, User
from gym.secrets import SecretError
from lmgym.models.backends import BackendError
from lmgym.models.backends.hub_listing import HubToken
from models_registry.models import RegisteredModel


def token_for(model: RegisteredModel) -> HubToken | None:
    """Return the token for downloading this model. Raises BackendError if it cannot be decrypted."""
    if (own := token_of(model.owner, "the owner's Hugging Face token")) is not None:
        return own
    is_approved = model.status not in (RegisteredModel.Status.UNAPPROVED, RegisteredModel.Status.REFUSED)
    return (
        HubToken(settings.GYM_HUB_TOKEN, "this site's token")
        if settings.GYM_HUB_TOKEN and is_approved
        else None
    )


def may_use_site_token(owner: AnyUser) -> bool:
    """Return whether the site's token is used for this member's models once staff approve them."""
    return bool(settings.GYM_HUB_TOKEN) and owner.is_authenticated and not has_token(owner)


def token_of(user: User, name: str) -> HubToken | None:
    """Return a member's own token, with its name in messages. Raises BackendError if it cannot be decrypted."""
    if not (user.is_active and has_token(user)):
        return None
    try:
        return HubToken(reveal_token(user), name)
    except SecretError as error:
        raise BackendError(f"{name[0].upper()}{name[1:]} cannot be read: {error}") from error


def sent_to_check(model: RegisteredModel) -> dict[str, Any] | None:
    """Return the token for a Hub model in the form that the check's process reads (see `backends.smoke_test`)."""
    token = token_for(model) if model.config.get("source") == "hub" else None
    return asdict(token) if token else None
