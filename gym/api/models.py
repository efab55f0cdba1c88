"""Requests with an Idempotency-Key and their responses."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

KEEP = timedelta(hours=24)
BUSY = timedelta(minutes=2)
"""Upper limit on the duration of a request. An older claim without a response means that the request was
interrupted and its work rolled back."""


class SentRequest(models.Model):
    """A POST with an Idempotency-Key. `status` is null while it is in progress."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, help_text="SHA-256 of method, address and body")
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    headers = models.JSONField(default=dict, blank=True)
    answer = models.JSONField(null=True, blank=True)
    created = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        ordering = ["-created"]
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="key_once_per_user")]

    def __str__(self) -> str:
        return self.key

    @property
    def is_over(self) -> bool:
        """True if the stored response has expired, or the request ended without one."""
        age = timezone.now() - self.created
        return age > (BUSY if self.status is None else KEEP)
