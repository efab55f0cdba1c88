"""The user model, API tokens, sentence charges, and token buckets for the throttles."""

from __future__ import annotations

import hashlib
from typing import Any, TypeAlias

from django.conf import settings
from django.contrib.auth.models import AbstractUser, AnonymousUser
from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone

from gym.secrets import SecretsField


class User(AbstractUser):
    """An account. Limits: null = the site's default, 0 = no limit."""

    max_active_jobs = models.PositiveIntegerField(
        "active jobs",
        null=True,
        blank=True,
        help_text="Overrides GYM_MAX_ACTIVE_JOBS_PER_USER; 0 = no limit.",
    )
    max_sentences_per_day = models.PositiveIntegerField(
        "sentences a day",
        null=True,
        blank=True,
        help_text="Overrides GYM_MAX_SENTENCES_PER_DAY; 0 = no limit.",
    )
    max_runs = models.PositiveIntegerField(
        "kept runs", null=True, blank=True, help_text="Overrides GYM_MAX_RUNS_PER_USER; 0 = no limit."
    )

    quota_factor = models.FloatField(
        "quota factor",
        null=True,
        blank=True,
        validators=[MinValueValidator(0.0)],
        help_text="Multiplies this account's quotas (GYM_QUOTA_…), both in objects and in bytes; kept runs have their "
        "own limit. 0.5 halves them. Empty = 1; 0 = no limit.",
    )

    unread_notices = models.PositiveIntegerField(
        default=0,
        editable=False,
        help_text="Updated by gym.notices.services, so that pages need not count notifications.",
    )
    notices_by_mail = models.BooleanField(
        "notifications by e-mail", default=False, help_text="Sent to the address of the account."
    )

    secrets = SecretsField(help_text="The member's keys for other services, encrypted.")

    def lock(self) -> None:
        """Lock the row until the transaction ends, so that concurrent requests cannot exceed a limit together. Raises
        User.DoesNotExist if the account is deleted."""
        type(self).objects.select_for_update().get(pk=self.pk)

    @property
    def display_name(self) -> str:
        """The chosen name, which need not be unique, followed by the unique user name; only the user name if
        none is chosen."""
        full = self.get_full_name()
        return f"{full} ({self.username})" if full and full != self.username else self.username

    @property
    def author_name(self) -> str:
        """Name for citations."""
        return self.get_full_name() or self.username


AnyUser: TypeAlias = User | AnonymousUser
"""The user of a request, signed in or not."""


class Scope(models.TextChoices):
    READ = "read", "read: whatever the token's owner may see"
    WRITE = "write", "write: create and change"
    RUN = "run", "run: start, cancel and rerun runs and games"


class ApiToken(models.Model):
    """An API token. Only its sha256 is stored: 32 random bytes need no slow hash."""

    MARK = "lmg_"
    SHOWN = 12  # first characters, shown in lists to identify a token

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, help_text="What the token is for, e.g. CI of the parser project.")
    prefix = models.CharField(max_length=SHOWN, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=list)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField(null=True, blank=True)
    last_used = models.DateTimeField(null=True, blank=True)
    revoked = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created", "-pk"]
        verbose_name = "API token"

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @staticmethod
    def digest_of(token: str) -> str:
        return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def is_expired(self) -> bool:
        return self.expires is not None and self.expires <= timezone.now()

    @property
    def is_live(self) -> bool:
        return self.revoked is None and not self.is_expired

    def allows(self, scope: str) -> bool:
        return scope in self.scopes


class AccountInvitation(models.Model):
    """An invitation to create an account, mailed to one address. Only the sha256 of its link's token is stored."""

    MARK = "lmi_"

    email = models.EmailField("e-mail address")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    inviter = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        related_name="sent_account_invitations",
    )
    is_staff = models.BooleanField("staff", default=False)
    groups = models.ManyToManyField("auth.Group", blank=True)
    sent = models.DateTimeField(default=timezone.now)
    expires = models.DateTimeField()
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="account_invitations"
    )
    accepted = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-sent", "-pk"]

    def __str__(self) -> str:
        return self.email

    @property
    def is_expired(self) -> bool:
        return self.expires <= timezone.now()


class SentenceCharge(models.Model):
    """Number of sentences that an account queued, counted towards the daily limit. Kept for a day, even if the queued
    run is deleted."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="sentence_charges"
    )
    n_sentences = models.PositiveIntegerField()
    created = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        ordering = ["-created", "-pk"]

    def __str__(self) -> str:
        return f"{self.n_sentences} sentences"


class TokenBucket(models.Model):
    """State of a token bucket as one number: the time at which it is full again.

    Rows are changed by one conditional UPDATE (see gym.accounts.throttle), so buckets are shared by all processes
    and survive restarts. The key is a hash, so the table contains neither names nor addresses.
    """

    key = models.CharField(max_length=64, primary_key=True)
    full_at = models.FloatField(
        default=0.0, db_index=True, help_text="when the bucket is full again, in seconds since 1970"
    )

    def __str__(self) -> str:
        return self.key[:12]

    @classmethod
    def key_of(cls, *parts: Any) -> str:
        return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()
