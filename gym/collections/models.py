"""Named collections of suite revisions."""

from __future__ import annotations

from django.conf import settings
from django.contrib.contenttypes.fields import GenericRelation
from django.db import models
from django.urls import reverse

from gym.sharing.models import Collaborator, Invitation
from suites.models import SuiteRevision


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
