"""Stored aggregates of runs, and named collections of suite revisions."""

from __future__ import annotations

from django.conf import settings
from django.contrib.contenttypes.fields import GenericRelation
from django.db import models
from django.urls import reverse

from gym.evaluations.models import SuiteRun
from gym.sharing.models import Collaborator, Invitation
from suites.models import SuiteRevision


class RunScore(models.Model):
    """A run under one scoring rule (gym.results.rules). Leaderboards read these rows and no outcomes.

    Rates are null when the run does not hold what the rule needs, e.g. uploads without the first prediction."""

    class RuleKey(models.TextChoices):
        EACH = "each", "each prediction"
        ALL = "all", "all predictions"
        FIRST = "first", "first prediction"

    run = models.ForeignKey(SuiteRun, on_delete=models.CASCADE, related_name="scores")
    rule = models.CharField(max_length=5, choices=RuleKey.choices)
    n = models.PositiveIntegerField(help_text="items")
    judged = models.PositiveIntegerField(help_text="items, or items times predictions under `each`")
    passed = models.PositiveIntegerField(help_text="of those judged")
    ties = models.PositiveIntegerField()
    too_close = models.PositiveIntegerField(help_text="outcomes within numeric noise of a tie")
    not_evaluable = models.PositiveIntegerField()
    rate = models.FloatField(null=True)
    low = models.FloatField(null=True, help_text="95% Wilson interval, items that carry several predictions")
    high = models.FloatField(null=True)
    chance = models.FloatField(null=True)
    chance_p = models.FloatField(null=True, help_text="one-sided p against chance")
    margin = models.FloatField(null=True, help_text="mean over items, bits")
    margin_low = models.FloatField(null=True)
    margin_high = models.FloatField(null=True)
    effect = models.FloatField(null=True, help_text="Hedges' g of the margins against 0")

    class Meta:
        ordering = ["run_id", "rule"]
        constraints = [models.UniqueConstraint(fields=["run", "rule"], name="run_scored_once_per_rule")]

    def __str__(self) -> str:
        return f"{self.run_id} {self.rule}"


class Collection(models.Model):
    """A named list of frozen suite revisions, such as a paper's set. Published, it and its entries never change."""

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True, help_text="What belongs together here, and why.")
    reference = models.TextField(blank=True, help_text="The paper this set comes from.")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="collections")
    created = models.DateTimeField(auto_now_add=True)
    published_at = models.DateTimeField(null=True, blank=True)
    sha256 = models.CharField(
        max_length=64, blank=True, help_text="of the list of revisions and their hashes"
    )
    invitations = GenericRelation(Invitation)

    class Meta:
        ordering = ["title"]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("collection-detail", args=[self.slug])

    @property
    def is_published(self) -> bool:
        return self.published_at is not None


class CollectionCollaborator(Collaborator):
    thing = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="collaborations")


class CollectionEntry(models.Model):
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="entries")
    revision = models.ForeignKey(SuiteRevision, on_delete=models.PROTECT, related_name="collection_entries")
    position = models.PositiveIntegerField()

    class Meta:
        ordering = ["collection_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["collection", "revision"], name="revision_once_per_collection")
        ]

    def __str__(self) -> str:
        return f"{self.collection_id}: {self.revision_id}"
