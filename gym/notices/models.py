"""The notification model."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone


class Notice(models.Model):
    """A notification. `User.unread_notices` counts the rows without `read`; only services.py writes to either."""

    class Kind(models.TextChoices):
        SHARED = "shared", "Invitation"
        RUNS = "runs", "Runs"
        MODEL = "model", "Model"
        ACCOUNT = "account", "Account"

    TEXT = 500

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    text = models.CharField(max_length=TEXT)
    address = models.CharField(
        max_length=500,
        blank=True,
        help_text="address of the page of this site that the notification is about",
    )
    about = models.CharField(
        max_length=100, blank=True, help_text="a later notification with the same value replaces this one"
    )
    created = models.DateTimeField(default=timezone.now, db_index=True)
    read = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created", "-pk"]
        indexes = [
            models.Index(fields=["user", "-created"], name="notice_user_created"),
            models.Index(fields=["user"], name="notice_unread", condition=Q(read=None)),
        ]

    def __str__(self) -> str:
        return self.text
