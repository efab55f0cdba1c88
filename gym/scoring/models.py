"""Sentences that somebody sent to a model, and what it said."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone

from gym.evaluations.models import new_key
from models_registry.models import RegisteredModel

KEEP = timedelta(hours=24)
"""After that, requests and their scores are deleted."""


class ScoreRequest(models.Model):
    key = models.SlugField(max_length=24, unique=True, default=new_key, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="score_requests"
    )
    model = models.ForeignKey(RegisteredModel, on_delete=models.CASCADE, related_name="score_requests")
    job = models.OneToOneField(
        "jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="score_request"
    )
    policy = models.JSONField(help_text="see ScoringPolicy")
    texts = models.JSONField()
    n_sentences = models.PositiveIntegerField()
    scores = models.JSONField(default=list, help_text="per text: token scores, or {failure}")
    created = models.DateTimeField(default=timezone.now, db_index=True)
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created", "-pk"]

    def __str__(self) -> str:
        return f"{self.n_sentences} sentences with {self.model_id}"

    @property
    def state(self) -> str:
        """The job's; without one (cleared away) it is done or lost."""
        if self.completed_at is not None:
            return "done"
        return self.job.state if self.job is not None else "failed"
