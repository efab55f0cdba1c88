"""Secrets at rest: keys of other servers, encrypted in the database and never shown again.

The model field `SecretsField` stores named secrets, each encrypted, so that database dumps and the admin do not reveal
them. Only code that sends a request calls `reveal`.

    agent.secrets = sealed(agent.secrets, {"api_key": "sk-…"})   # "" keeps the stored secret, None deletes it
    key = reveal(agent.secrets, "api_key")                       # "" if it is not stored; raises SecretError

The key is GYM_SECRETS_KEY, or derived from GYM_SECRET_KEY. For key rotation, set several keys separated by commas: the
first one encrypts, all of them decrypt."""

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
    """A secret that cannot be decrypted, usually because the site's key has changed."""


def encrypt(text: str) -> str:
    """Encrypt a text with the site's key. The result consists of printable characters."""
    return _box().encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    """Decrypt the result of `encrypt`. Raises SecretError."""
    try:
        return _box().decrypt(token.encode()).decode()
    except (InvalidToken, UnicodeError) as error:
        raise SecretError(
            "A stored secret cannot be read: GYM_SECRETS_KEY (or GYM_SECRET_KEY) has changed. Enter the secret again."
        ) from error


def sealed(stored: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return the stored secrets with these changes: "" (an empty field) keeps a secret, None deletes it."""
    kept = dict(stored)
    for name, value in changes.items():
        if value is None:
            kept.pop(name, None)
        elif value:
            kept[name] = encrypt(value)
    return kept


def reveal(stored: Mapping[str, str], name: str) -> str:
    """Decrypt one secret, for the code that sends it. Return "" if it is not stored. Raises SecretError."""
    return decrypt(stored[name]) if stored.get(name) else ""


class SecretsField(models.JSONField):
    """Named secrets of a row: {name: encrypted}. Not editable in forms or the admin."""

    description = "encrypted secrets by name"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("default", dict)
        kwargs.setdefault("blank", True)
        kwargs["editable"] = False
        super().__init__(*args, **kwargs)


def stored() -> Iterator[tuple[models.Model, bool]]:
    """Yield every row with secrets, and True if all of them can be decrypted."""
    for model in apps.get_models():
        names = [field.name for field in model._meta.fields if isinstance(field, SecretsField)]
        for row in model._default_manager.only("pk", *names).iterator() if names else ():
            tokens = [token for name in names for token in getattr(row, name).values()]
            if tokens:
                yield row, all(map(_is_readable, tokens))


def _is_readable(token: str) -> bool:
    try:
        decrypt(token)
    except SecretError:
        return False
    return True


def _box() -> MultiFernet:
    keys = settings.GYM_SECRETS_KEY.split(",") if settings.GYM_SECRETS_KEY else [settings.SECRET_KEY]
    return MultiFernet([Fernet(_derived(key.strip())) for key in keys])


def _derived(key: str) -> bytes:
    """Derive a Fernet key from a text of any length."""
    derivation = HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE)
    return base64.urlsafe_b64encode(derivation.derive(key.encode()))


def forget_secrets(obj: Any) -> None:
    """Delete all secrets of an object and of its agent server."""
    for part in (obj, getattr(obj, "agent_server", None)):
        names = [field.name for field in part._meta.fields if isinstance(field, SecretsField)] if part else []
        for name in names:
            setattr(part, name, {})
        if part is not None and names:
            part.save(update_fields=names)
