"""API tokens: create, look up, revoke."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from gym.accounts.models import ApiToken, Scope, User

MAX_LIVE = 50
USED_EVERY = timedelta(minutes=1)


class BadToken(Exception):
    """The token is unknown, revoked or expired, or its account is disabled."""


def create_token(
    *, actor: User, name: str, scopes: Iterable[str], expires: datetime | None = None
) -> tuple[ApiToken, str]:
    """Create a token; returns its row and the secret string, which is not stored.

    Raises ValidationError for no or unknown scopes, an empty or too long name, a past expiry or too many live tokens;
    PermissionDenied if the actor is not signed in."""
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to create a token")
    chosen = [scope for scope in Scope.values if scope in set(scopes)]
    if not chosen or set(scopes) - set(chosen):
        raise ValidationError(f"Choose scopes from {', '.join(Scope.values)}.")
    if expires is not None and expires <= timezone.now():
        raise ValidationError("The expiry date is in the past.")
    plain = ApiToken.MARK + secrets.token_urlsafe(32)
    token = ApiToken(
        user=actor,
        name=name,
        prefix=plain[: ApiToken.SHOWN],
        digest=ApiToken.digest_of(plain),
        scopes=chosen,
        expires=expires,
    )
    with transaction.atomic():
        actor.lock()
        if live_tokens(actor).count() >= MAX_LIVE:
            raise ValidationError(
                f"You have {MAX_LIVE} tokens, the maximum. Revoke tokens that you no longer use."
            )
        token.full_clean()
        token.save()
    return token, plain


def find_token(plain: str) -> ApiToken:
    """Return the live token for this string. Raises BadToken with the reason."""
    token = ApiToken.objects.select_related("user").filter(digest=ApiToken.digest_of(plain)).first()
    if token is None:
        raise BadToken("Unknown token.")
    if token.revoked is not None:
        raise BadToken("This token was revoked.")
    if token.is_expired:
        raise BadToken("This token has expired.")
    if not token.user.is_active:
        raise BadToken("The account of this token is disabled.")
    return token


def mark_used(token: ApiToken) -> None:
    """Record when a token was last used. Precise to the minute only, to avoid a write per request."""
    now = timezone.now()
    if token.last_used is None or token.last_used < now - USED_EVERY:
        stale = Q(last_used=None) | Q(last_used__lt=now - USED_EVERY)
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used=now)


def revoke_token(token: ApiToken, *, actor: User) -> None:
    """Revoke the token; keep the row. Raises PermissionDenied unless the actor owns it or is staff."""
    if token.user_id != actor.pk and not actor.is_staff:
        raise PermissionDenied("this token belongs to another account")
    ApiToken.objects.filter(pk=token.pk, revoked=None).update(revoked=timezone.now())


def revoke_tokens(user: User) -> None:
    """Revoke all tokens of an account whose owner may have changed."""
    live_tokens(user).update(revoked=timezone.now())


def live_tokens(user: User) -> QuerySet[ApiToken]:
    return user.api_tokens.filter(Q(expires=None) | Q(expires__gt=timezone.now()), revoked=None)
