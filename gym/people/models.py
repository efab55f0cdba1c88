"""Human data of suite revisions: reading times and judgments of people, their import, and comparisons with models."""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.contenttypes.fields import GenericRelation
from django.db import models
from django.urls import reverse

from gym.jobs.models import HasJob, State
from gym.runs.models import SuiteRun, new_key
from gym.sharing.models import PRIVATE_OR_PUBLIC, Collaborator, Invitation, VisibilityField
from lmgym.people.observations import UNITS, Measure
from suites.models import SuiteRevision

KEEP_IMPORTS = timedelta(days=7)
"""Files with open questions are deleted after this time."""


def new_salt() -> bytes:
    return secrets.token_bytes(32)


class HumanData(models.Model):
    """Observations of people for the sentences of one frozen revision.

    Participants are numbered at random when the file is imported, and its names are not stored. The salt that keyed
    them during the import is deleted with the uploaded file.
    """

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField("name", max_length=200)
    revision = models.ForeignKey(SuiteRevision, on_delete=models.PROTECT, related_name="human_data")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="human_data")
    visibility = VisibilityField(choices=PRIVATE_OR_PUBLIC)
    description = models.TextField(
        blank=True, help_text="Who took part, how they were recruited, and what they did."
    )
    licence = models.CharField(
        max_length=60, blank=True, help_text="e.g. CC-BY-4.0, CC0-1.0. Empty: not stated."
    )
    author = models.TextField(
        "authors",
        blank=True,
        help_text="One per line in the order of citation. Empty: citations name the owner.",
    )
    reference = models.TextField(blank=True, help_text="The paper that reports the experiment.")
    bibtex = models.TextField("BibTeX", blank=True)
    confirmed_at = models.DateTimeField(
        null=True, blank=True, help_text="when consent and anonymity were confirmed, on publication"
    )

    measure = models.CharField(max_length=80, help_text="name of the measure")
    kind = models.CharField(max_length=20, help_text="one of lmgym.people.observations.Kind")
    scale = models.JSONField(null=True, blank=True, help_text="lowest and highest point of a rating scale")
    is_simulated = models.BooleanField(default=False, help_text="made by a program, not by people")
    n_observations = models.PositiveIntegerField()
    n_participants = models.PositiveIntegerField(help_text="0 for means over participants")
    n_items = models.PositiveIntegerField()
    size = models.PositiveBigIntegerField(help_text="bytes of the pieces")
    provenance = models.JSONField(
        default=dict, help_text="file, sha256, reader, roles, answers, rows left out"
    )
    demographics = models.JSONField(default=dict, help_text="column -> value -> number of participants")
    exclusions = models.JSONField(default=dict, help_text="see lmgym.people.exclusions.Exclusions")
    result = models.JSONField(default=dict, help_text="see gym.people.results")
    job = models.OneToOneField(
        "jobs.Job",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="human_data",
        help_text="computes `result` with other exclusions",
    )
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)
    invitations = GenericRelation(Invitation)

    class Meta:
        ordering = ["title", "pk"]
        verbose_name = "human data set"
        verbose_name_plural = "human data sets"

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("human-data", args=[self.slug])

    @property
    def unit(self) -> str:
        return UNITS[self.kind]

    @property
    def participants_label(self) -> str:
        """Label of the row of people among rows of models."""
        return "Simulated people" if self.is_simulated else "People"

    @property
    def has_reading_times(self) -> bool:
        return self.kind == "reading time"

    @property
    def are_means(self) -> bool:
        return not self.n_participants

    def as_measure(self) -> Measure:
        scale = (float(self.scale[0]), float(self.scale[1])) if self.scale else None
        return Measure(self.measure, self.kind, scale)  # type: ignore[arg-type]  # stored from a Measure


class HumanDataCollaborator(Collaborator):
    thing = models.ForeignKey(HumanData, on_delete=models.CASCADE, related_name="collaborations")


class _Piece(models.Model):
    """A piece of bytes that may be too large for one row."""

    position = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        abstract = True


class ColumnPiece(_Piece):
    """A piece of the compressed columns of a data set; see storage.py."""

    of = models.ForeignKey(HumanData, on_delete=models.CASCADE, related_name="pieces")

    class Meta:
        ordering = ["of_id", "position"]
        constraints = [models.UniqueConstraint(fields=["of", "position"], name="column_piece_once")]

    def __str__(self) -> str:
        return f"{self.of_id}: {self.position}"


class HumanDataImport(models.Model):
    """An uploaded file until it is imported. Deleted after KEEP_IMPORTS; the data set is kept."""

    key = models.SlugField(max_length=24, unique=True, default=new_key, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    revision = models.ForeignKey(SuiteRevision, on_delete=models.CASCADE, related_name="+")
    title = models.CharField(max_length=200)
    filename = models.CharField(max_length=200)
    size = models.PositiveBigIntegerField(help_text="bytes of the file")
    is_live = models.BooleanField(default=False, help_text="small enough to be read in the web process")
    salt = models.BinaryField(default=new_salt)
    answers = models.JSONField(default=dict, help_text="name of a question -> answer")
    reading = models.JSONField(default=dict, help_text="see gym.people.reading")
    job = models.OneToOneField(
        "jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="human_data_import"
    )
    made = models.ForeignKey(HumanData, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created", "-pk"]

    def __str__(self) -> str:
        return self.filename

    def get_absolute_url(self) -> str:
        return reverse("human-data-import", args=[self.key])

    @property
    def is_busy(self) -> bool:
        return self.job is not None and self.job.is_active


class FilePiece(_Piece):
    of = models.ForeignKey(HumanDataImport, on_delete=models.CASCADE, related_name="pieces")

    class Meta:
        ordering = ["of_id", "position"]
        constraints = [models.UniqueConstraint(fields=["of", "position"], name="file_piece_once")]

    def __str__(self) -> str:
        return f"{self.of_id}: {self.position}"


class PeopleComparison(HasJob, models.Model):
    """Models compared with one data set: mixed models of reading times, and sizes of effects."""

    key = models.SlugField(max_length=24, unique=True, default=new_key, editable=False)
    human_data = models.ForeignKey(HumanData, on_delete=models.CASCADE, related_name="comparisons")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    runs = models.ManyToManyField(SuiteRun, related_name="people_comparisons")
    n_runs = models.PositiveIntegerField(help_text="number of runs when it was started")
    options = models.JSONField(default=dict, help_text="see lmgym.people.fit_data.Options")
    exclusions = models.JSONField(default=dict, help_text="those of the data set when it was started")
    result = models.JSONField(default=dict, help_text="see gym.people.comparing")
    job = models.OneToOneField(
        "jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="people_comparison"
    )
    created = models.DateTimeField(auto_now_add=True)
    completed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created", "-pk"]

    def __str__(self) -> str:
        return f"models against {self.human_data}"

    def get_absolute_url(self) -> str:
        return reverse("human-data-models-result", args=[self.human_data.slug, self.key])

    @property
    def is_running(self) -> bool:
        return self.state in (State.QUEUED, State.RUNNING)
