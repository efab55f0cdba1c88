"""Secrets at rest: keys of other servers, encrypted in the database, shown to nobody again.

A model field `SecretsField` holds the named secrets of one row, each encrypted; what stands in the database, in dumps
and in the admin is of no use without the site's key. Only the code that sends a request calls `reveal`.

    agent.secrets = sealed(agent.secrets, {"api_key": "sk-…"})   # "" leaves it as it is, None takes it away
    key = reveal(agent.secrets, "api_key")                       # "" when there is none; SecretError when unreadable

The key is GYM_SECRETS_KEY, or made from GYM_SECRET_KEY where that is not set. Several, separated by commas: the first
one encrypts, all of them decrypt, so that a key can be changed.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.apps import apps
from django.conf import settings
from django.db import models

MAX_LENGTH = 4000
_PURPOSE = b"LM Gym: secrets at rest, 1"


class SecretError(Exception):
    """A secret that cannot be read, usually because the site's key is another one now."""


def encrypt(text: str) -> str:
    """The text as printable characters that only this site's key opens."""
    return _box().encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    """What `encrypt` was given; SecretError when this site's key does not open it."""
    try:
        return _box().decrypt(token.encode()).decode()
    except (InvalidToken, UnicodeError) as error:
        raise SecretError(
            "A stored secret cannot be read: GYM_SECRETS_KEY (or GYM_SECRET_KEY) is another one now. Give it again."
        ) from error


def sealed(stored: Mapping[str, str], given: Mapping[str, str | None]) -> dict[str, str]:
    """The stored secrets with the given ones in their place. "" (an empty field) keeps, None takes away."""
    kept = dict(stored)
    for name, value in given.items():
        if value is None:
            kept.pop(name, None)
        elif value:
            kept[name] = encrypt(value)
    return kept


def reveal(stored: Mapping[str, str], name: str) -> str:
    """One secret in clear text, for the code that sends it and for nobody else."""
    return decrypt(stored[name]) if stored.get(name) else ""


class SecretsField(models.JSONField):
    """Named secrets of a row: {name: encrypted}. Forms and the admin leave it out."""

    description = "encrypted secrets by name"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("default", dict)
        kwargs.setdefault("blank", True)
        kwargs["editable"] = False
        super().__init__(*args, **kwargs)


def stored() -> Iterator[tuple[models.Model, bool]]:
    """Every row that holds secrets, and whether this site's key opens all of them."""
    for model in apps.get_models():
        names = [field.name for field in model._meta.fields if isinstance(field, SecretsField)]
        for row in model._default_manager.only("pk", *names).iterator() if names else ():
            tokens = [token for name in names for token in getattr(row, name).values()]
            if tokens:
                yield row, all(map(_opens, tokens))


def _opens(token: str) -> bool:
    try:
        decrypt(token)
    except SecretError:
        return False
    return True


def _box() -> MultiFernet:
    keys = settings.GYM_SECRETS_KEY.split(",") if settings.GYM_SECRETS_KEY else [settings.SECRET_KEY]
    return MultiFernet([Fernet(_derived(key.strip())) for key in keys])


def _derived(key: str) -> bytes:
    """A Fernet key from a text of any length."""
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE)
    return base64.urlsafe_b64encode(derivation.derive(key.encode()))


def forget_secrets(thing: Any) -> None:
    """Keys of other servers and variables, of the thing and of its agent server."""
    for part in (thing, getattr(thing, "agent_server", None)):
        names = [field.name for field in part._meta.fields if isinstance(field, SecretsField)] if part else []
        for name in names:
            setattr(part, name, {})
        if part is not None and names:
            part.save(update_fields=names)
