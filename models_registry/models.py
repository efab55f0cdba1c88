"""Registered models, pinned to an exact version so that results can be reproduced."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.conf import settings
from django.contrib.contenttypes.fields import GenericRelation
from django.core.validators import RegexValidator
from django.db import models
from django.urls import reverse

from gym.secrets import SecretsField
from gym.sharing.models import PRIVATE_OR_PUBLIC, Collaborator, Invitation, VisibilityField

UPLOADED = "uploaded"
"""Backend of models that are not hosted here. They have only a card for uploaded results and are never loaded."""
BYTES_PER_NUMBER = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
DOWNLOAD_UNIT, BYTES_PER_DOWNLOAD_UNIT = "kB", 1_000
"""Unit of a check's progress while files are downloaded. A number of bytes would not fit a job's columns."""
AGENT = "agent"
"""Backend of agents (gym.agents), which have no surprisals and cannot run suites."""


class RegisteredModel(models.Model):
    class Status(models.TextChoices):
        UNAPPROVED = "unapproved", "waits for staff"
        REFUSED = "refused", "refused by staff"
        UNCHECKED = "unchecked", "being checked"
        READY = "ready", "ready"
        BROKEN = "broken", "does not work"

    slug = models.SlugField(
        max_length=80,
        unique=True,
        validators=[RegexValidator(r"^(?!register$)", "This name is taken by a page of the site.")],
        help_text="Short name used in addresses and on the command line, e.g. gpt2-medium.",
    )
    name = models.CharField(max_length=200)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="models")
    backend = models.CharField(max_length=30)
    config = models.JSONField(default=dict)
    secrets = SecretsField(help_text="secret values of the configuration, encrypted")
    visibility = VisibilityField(choices=PRIVATE_OR_PUBLIC)
    tags = models.JSONField(default=list, blank=True)

    status = models.CharField(max_length=10, choices=Status.choices, default=Status.UNCHECKED)
    status_reason = models.TextField(blank=True)
    facts = models.JSONField(
        default=dict, help_text="facts found by the check: tokenizer, vocabulary, dtype …"
    )
    fingerprint = models.CharField(max_length=200, blank=True, help_text="identifies weights and tokenizer")
    source_revision = models.CharField(max_length=64, blank=True, help_text="commit of a hub model")
    parameters = models.BigIntegerField(null=True, blank=True)
    vocabulary_size = models.BigIntegerField(null=True, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)
    load_seconds = models.FloatField(null=True, blank=True, help_text="duration of the last load by a worker")
    check_job = models.ForeignKey(
        "jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="checked_models"
    )

    description = models.TextField(blank=True)
    authorship = models.CharField(max_length=200, blank=True)
    licence = models.CharField(max_length=60, blank=True)
    corpus = models.CharField("training corpus", max_length=200, blank=True)
    perplexity = models.FloatField(null=True, blank=True, help_text="as reported by its authors")
    url = models.URLField("home page", blank=True)
    bibtex = models.TextField("BibTeX", blank=True)
    created = models.DateTimeField(auto_now_add=True)
    invitations = GenericRelation(Invitation)

    class Meta:
        ordering = ["name"]
        verbose_name = "model"

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("agent-server" if self.backend == AGENT else "model-detail", args=[self.slug])

    @property
    def is_hosted(self) -> bool:
        """True if this site can load the model and run it on suites."""
        return self.backend not in (UPLOADED, AGENT)

    @property
    def not_hosted(self) -> str:
        """Reason why this site cannot load the model; empty if it can."""
        if self.backend == AGENT:
            return f"{self.name} is an agent: it runs on agent tests and has no surprisals."
        if self.backend == UPLOADED:
            return f"{self.name} is not hosted here: it has uploaded results only."
        return ""

    @cached_property
    def label(self) -> str:
        """The name, followed by the slug if `names.disambiguate` found other models with the same name."""
        return self.name

    @property
    def weight_bytes(self) -> int:
        """Memory of the weights in bytes, computed from the check's findings."""
        return (self.parameters or 0) * BYTES_PER_NUMBER.get(str(self.facts.get("dtype")), 4)

    @property
    def start_tokens(self) -> dict[str, Any]:
        """Measurements of start tokens by the check (backends.start_tokens.measured); empty if it tried none."""
        measured: dict[str, Any] = self.facts.get("probe", {}).get("start_tokens") or {}
        return measured

    @property
    def download(self) -> tuple[int, int] | None:
        """Bytes downloaded so far and in total by the running check; None if no check is downloading."""
        job = self.check_job
        if job is None or job.unit != DOWNLOAD_UNIT or job.state != "running":
            return None
        return job.done * BYTES_PER_DOWNLOAD_UNIT, job.total * BYTES_PER_DOWNLOAD_UNIT

    @property
    def is_masked(self) -> bool:
        """True if its bits are pseudo-log-likelihoods, conditioned on both sides of each token."""
        return self.backend == "masked"

    @property
    def is_ready(self) -> bool:
        return self.status == self.Status.READY


class ModelCollaborator(Collaborator):
    thing = models.ForeignKey(RegisteredModel, on_delete=models.CASCADE, related_name="collaborations")
