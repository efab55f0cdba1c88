"""Named collections of suite revisions."""

from __future__ import annotations

from django.conf import settings
from django.contrib.contenttypes.fields import GenericRelation
from django.db import models
from django.urls import reverse
from django.utils import timezone

from gym.jobs.models import HasJob
from gym.people.models import HumanData
from gym.sharing.models import Collaborator, Invitation
from suites.models import SuiteRevision


class Collection(models.Model):
    """A named list of frozen suite revisions, such as those of a paper. A published collection never changes."""

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    description = models.TextField(
        blank=True, help_text="What these suites have in common, and why they are grouped."
    )
    reference = models.TextField(blank=True, help_text="The paper this set comes from.")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="collections")
    created = models.DateTimeField(auto_now_add=True)
    published_at = models.DateTimeField(null=True, blank=True)
    sha256 = models.CharField(
        max_length=64, blank=True, help_text="hash of the list of revisions with their hashes"
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


class CollectionHumanData(models.Model):
    """Human data of one of the collection's revisions."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="human_data_entries")
    human_data = models.ForeignKey(HumanData, on_delete=models.CASCADE, related_name="collection_entries")

    class Meta:
        ordering = ["collection_id", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "human_data"], name="human_data_once_per_collection"
            )
        ]

    def __str__(self) -> str:
        return f"{self.collection_id}: {self.human_data_id}"


class CollectionZip(HasJob, models.Model):
    """A zip of a collection, created by a job, with the contents that its reader may see; without a reader, the public
    contents."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="zips")
    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    job = models.OneToOneField(
        "jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="collection_zip"
    )
    address = models.URLField(max_length=500, help_text="address of the collection, as printed in the zip")
    fingerprint = models.CharField(max_length=64, blank=True, help_text="hash of everything in the zip")
    revisions = models.JSONField(default=list, help_text="their primary keys")
    runs = models.JSONField(default=list, help_text="their primary keys")
    size = models.PositiveBigIntegerField(default=0, help_text="bytes")
    created = models.DateTimeField(default=timezone.now)
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"zip of {self.collection_id}"

    @property
    def filename(self) -> str:
        """File name with the date, since results change."""
        return f"{self.collection.slug}-collection-{self.completed_at:%Y-%m-%d}.zip"


class ZipPiece(models.Model):
    """A piece of a zip. Stored in the database because workers and web servers may run on different machines."""

    zip = models.ForeignKey(CollectionZip, on_delete=models.CASCADE, related_name="pieces")
    position = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        ordering = ["zip_id", "position"]
        constraints = [models.UniqueConstraint(fields=["zip", "position"], name="zip_piece_once")]

    def __str__(self) -> str:
        return f"{self.zip_id}: {self.position}"
