"""Answer sets, their versions, and submissions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.contenttypes.fields import GenericRelation
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.urls import reverse

from gym.runs.models import new_key
from gym.sharing import addresses
from gym.sharing.models import Collaborator, Invitation, VisibilityField

_SHARE = [
    MinValueValidator(0.0, "Enter a number from 0 to 1."),
    MaxValueValidator(1.0, "Enter a number from 0 to 1: 0.545, not 54.5."),
]
RESERVED = ("new", "try", "compare", "submissions", "rescore")


class FrozenAnswers(Exception):
    """Raised on attempts to change a version."""


class AnswerSet(addresses.Addressed):
    """A set of reference answers about processes. Scores belong to a version, and versions never change."""

    slug = models.SlugField(
        max_length=80,
        unique=True,
        validators=[RegexValidator(rf"^(?!({'|'.join(RESERVED)})$)", "This name is reserved.")],
    )
    title = models.CharField(max_length=200)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="answer_sets")
    visibility = VisibilityField()
    description = models.TextField(blank=True, help_text="What the processes are, and who annotated them.")
    licence = models.CharField(
        max_length=60, blank=True, help_text="e.g. CC-BY-4.0, CC0-1.0. Empty: not stated."
    )
    reference = models.TextField(blank=True, help_text="The paper the answers come from.")
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)
    invitations = GenericRelation(Invitation)

    class Meta:
        ordering = ["title"]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("propara-set", args=[self.slug])

    @property
    def latest(self) -> AnswerSetVersion | None:
        return self.versions.order_by("-number").first()


class AnswerSetCollaborator(Collaborator):
    thing = models.ForeignKey(AnswerSet, on_delete=models.CASCADE, related_name="collaborations")


class AnswerSetVersion(models.Model):
    """The answers and sentences in an answer set. A version never changes."""

    answer_set = models.ForeignKey(AnswerSet, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    note = models.CharField(max_length=300, blank=True, help_text="What changed.")
    answers = models.TextField(help_text="action file")
    sentences = models.TextField(blank=True, help_text="process, number, text")
    sha256 = models.CharField(max_length=64, help_text="of the answers")
    sentences_sha256 = models.CharField(max_length=64, blank=True)
    process_ids = models.JSONField(help_text="in the order of the answers")
    n_participants = models.PositiveIntegerField()
    n_steps = models.PositiveIntegerField(help_text="steps of all processes")
    events = models.JSONField(help_text="number of steps by action")
    notices = models.JSONField(default=list, help_text="unusual but accepted input")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["answer_set_id", "-number"]
        constraints = [models.UniqueConstraint(fields=["answer_set", "number"], name="answers_numbered_once")]

    def __str__(self) -> str:
        return f"{self.answer_set} v{self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise FrozenAnswers("Versions of reference answers never change. Add a new version.")
        super().save(*args, **kwargs)

    def get_absolute_url(self) -> str:
        return reverse("propara-version", args=[self.answer_set.slug, self.number])

    @property
    def n_processes(self) -> int:
        return len(self.process_ids)


class Submission(models.Model):
    """A system's predictions for a version. `file` is the upload; `samples` are the action files that are scored."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting for agreement to repairs"
        CHECKED = "checked", "checked, not saved"
        SCORED = "scored", "scored"
        UNSCORABLE = "unscorable", "no score"

    key = models.SlugField(max_length=24, unique=True, default=new_key, editable=False)
    version = models.ForeignKey(AnswerSetVersion, on_delete=models.PROTECT, related_name="submissions")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="propara_submissions"
    )
    system = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    paper = models.CharField(max_length=300, blank=True)
    link = models.URLField(blank=True)
    visibility = VisibilityField()
    state = models.CharField(max_length=10, choices=State.choices)

    filename = models.CharField(max_length=200, blank=True)
    file = models.BinaryField(default=bytes, help_text="as uploaded")
    file_sha256 = models.CharField(max_length=64, blank=True)
    kind = models.CharField(max_length=10, default="actions", help_text="actions, states, grids or answers")
    repairs = models.JSONField(default=list, help_text="[{line, column, code, message}]")
    agreed_at = models.DateTimeField(null=True, blank=True, help_text="when the owner agreed to the repairs")
    samples = models.JSONField(
        default=list,
        help_text="[{text, failures, precision, recall, f1, corrected_f1}]; the first is on the leaderboard",
    )

    n_samples = models.PositiveSmallIntegerField(
        default=1, help_text="number of samples from a language model; 1 for other files"
    )

    evaluator = models.CharField(max_length=20, blank=True)
    report = models.JSONField(default=dict, help_text="scores, intervals, warnings, mistakes; by process")
    f1 = models.FloatField(null=True, blank=True, help_text="F1 of the official metric, for sorting")
    scored_at = models.DateTimeField(null=True, blank=True)
    history = models.JSONField(default=list, help_text="[{evaluator, scored_at, precision, recall, f1}]")

    rescored_from = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="rescored",
        help_text="submission of the same file to another version of the reference answers",
    )
    does_not_fit = models.JSONField(
        default=dict, blank=True, help_text="version number -> why that version cannot score this file"
    )
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created", "-pk"]

    def __str__(self) -> str:
        return self.system

    def get_absolute_url(self) -> str:
        return reverse("propara-submission", args=[self.key])

    @property
    def is_scored(self) -> bool:
        return self.state in (self.State.SCORED, self.State.UNSCORABLE)

    @property
    def is_checked(self) -> bool:
        """True if the submission is scored, but visible only to its owner and staff, and not on the
        leaderboard."""
        return self.state == self.State.CHECKED

    @property
    def has_scores(self) -> bool:
        return self.is_scored or self.is_checked

    @property
    def is_repaired(self) -> bool:
        """True if the scored file was repaired, because the reference would have rejected the upload."""
        return bool(self.repairs)

    @property
    def reference(self) -> dict[str, Any] | None:
        """Official scores; None before scoring, or if the reference's arithmetic fails."""
        scores: dict[str, Any] | None = self.report.get("reference")
        return scores


class PublishedResult(models.Model):
    """A system's scores as reported in a paper, listed on a version's leaderboard. They are not computed here."""

    version = models.ForeignKey(AnswerSetVersion, on_delete=models.CASCADE, related_name="published")
    system = models.CharField(max_length=200)
    precision = models.FloatField(null=True, blank=True, validators=_SHARE, help_text="0 to 1, e.g. 0.743")
    recall = models.FloatField(null=True, blank=True, validators=_SHARE, help_text="0 to 1")
    f1 = models.FloatField("F1", validators=_SHARE, help_text="0 to 1")
    citation = models.CharField(max_length=500, help_text="The paper and the table with these numbers.")
    link = models.URLField(blank=True, help_text="Where the paper can be read.")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-f1", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["version", "system", "citation"], name="published_result_once")
        ]

    def __str__(self) -> str:
        return f"{self.system}, published"

    def clean(self) -> None:
        """Raise ValidationError if precision, recall and F1 are inconsistent, to catch typos."""
        if self.precision is None or self.recall is None or self.f1 is None:
            return
        total = self.precision + self.recall
        implied = 2 * self.precision * self.recall / total if total else 0.0
        if abs(implied - self.f1) > 0.01:
            raise ValidationError({"f1": f"Precision and recall give F1 {implied:.3f}, not {self.f1:g}."})


class FormerSetAddress(addresses.FormerAddress):
    OF = "answer_set"

    answer_set = models.ForeignKey(
        AnswerSet, on_delete=models.SET_NULL, null=True, related_name="former_addresses"
    )


class FormerSubmissionKey(addresses.FormerKey):
    OF = "submission"

    submission = models.ForeignKey(Submission, on_delete=models.CASCADE, related_name="former_keys")
