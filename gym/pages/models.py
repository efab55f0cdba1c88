"""The model of the page *Download your data*."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils import timezone

from gym.jobs.models import HasJob
from gym.stored_files import KEEP


class AccountExport(HasJob, models.Model):
    """A zip of everything that an account owns, created by a job. An account has at most one."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    job = models.OneToOneField(
        "jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="account_export"
    )
    size = models.PositiveBigIntegerField(default=0, help_text="bytes")
    n_files = models.PositiveIntegerField("files", default=0)
    created = models.DateTimeField(default=timezone.now)
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"data of {self.user}"

    @property
    def expires(self) -> datetime:
        return self.created + KEEP

    @property
    def filename(self) -> str:
        return f"lm-gym-data-{self.completed_at:%Y-%m-%d}.zip"


class ExportPiece(models.Model):
    """A piece of the zip; see gym.stored_files."""

    export = models.ForeignKey(AccountExport, on_delete=models.CASCADE, related_name="pieces")
    position = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        ordering = ["export_id", "position"]
        constraints = [models.UniqueConstraint(fields=["export", "position"], name="export_piece_once")]

    def __str__(self) -> str:
        return f"{self.export_id}: {self.position}"
