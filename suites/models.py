"""Suites, their revisions, sentences and predictions.

A suite has at most one draft revision, which may change, and any number of frozen ones, whose content never does. Runs
and citations refer to frozen revisions.
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.contenttypes.fields import GenericRelation
from django.core.validators import RegexValidator
from django.db import models
from django.urls import reverse

from gym.sharing import addresses
from gym.sharing.models import Collaborator, Invitation, VisibilityField
from lmgym.suites.languages import is_right_to_left, name_of
from suites.signals import address_leaving


class JoinPolicy(models.TextChoices):
    SPACE = "space", "one space between regions (SyntaxGym)"
    NATURAL = "natural", "no space before . , ; : ! ?"
    NONE = "none", "no space (Chinese, Japanese, parts of words)"


class FrozenRevision(Exception):
    """Raised on an attempt to change a frozen revision."""


class Tag(models.Model):
    """A phenomenon or collection, e.g. "agreement". Lower case, words joined by hyphens."""

    name = models.SlugField(max_length=60, unique=True, allow_unicode=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Suite(addresses.Addressed):
    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="suites")
    visibility = VisibilityField()
    tags = models.ManyToManyField(Tag, blank=True, related_name="suites")
    language = models.CharField(
        "language",
        max_length=35,
        blank=True,
        default="",
        validators=[
            RegexValidator(
                r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$", "Use a language tag such as en, de or zh-Hans."
            )
        ],
        help_text="Language tag (BCP 47), e.g. en, de, zh-Hans. Empty: not stated.",
    )
    licence = models.CharField(
        max_length=60, blank=True, help_text="e.g. CC-BY-4.0, MIT, CC0-1.0. Empty: not stated."
    )
    author = models.TextField(
        "authors",
        blank=True,
        help_text="One per line in the order of citation, with the affiliation in brackets, e.g. Jennifer Hu (MIT). "
        "Empty: citations name the owner.",
    )
    reference = models.TextField("reference", blank=True, help_text="The paper this suite comes from.")
    bibtex = models.TextField("BibTeX", blank=True)
    description = models.TextField(blank=True, help_text="What is tested, and why.")
    comment = models.TextField(blank=True, help_text="Notes that travel with the file.")
    without_modifier = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="with_modifier",
        verbose_name="suite without the modifier",
        help_text="For a suite that adds a modifier to the sentences of another suite: that other suite. Models’ pages "
        "compare the two. "
        "Empty: found by the name in the file (center_embed_mod belongs to center_embed of the same owner or published "
        "collection).",
    )
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)
    invitations = GenericRelation(Invitation)

    class Meta:
        ordering = ["title"]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("suite-detail", args=[self.slug])

    def require_not_in_use(self) -> None:
        """Raise InUse if a published collection relies on this suite being public at its address."""
        address_leaving.send(sender=Suite, suite=self)

    @property
    def language_name(self) -> str:
        return name_of(self.language)

    @property
    def is_right_to_left(self) -> bool:
        """Whether sheets and tables of regions start at the right."""
        return is_right_to_left(self.language)

    @property
    def draft(self) -> SuiteRevision | None:
        return self.revisions.filter(state=SuiteRevision.State.DRAFT).first()

    @property
    def latest_frozen(self) -> SuiteRevision | None:
        return self.revisions.filter(state=SuiteRevision.State.FROZEN).order_by("-number").first()


class FormerAddress(addresses.FormerAddress):
    OF = "suite"

    suite = models.ForeignKey(Suite, on_delete=models.SET_NULL, null=True, related_name="former_addresses")


class SuiteCollaborator(Collaborator):
    thing = models.ForeignKey(Suite, on_delete=models.CASCADE, related_name="collaborations")


class SuiteRevision(models.Model):
    class State(models.TextChoices):
        DRAFT = "draft", "draft"
        FROZEN = "frozen", "frozen"

    suite = models.ForeignKey(Suite, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=6, choices=State.choices, default=State.DRAFT)
    name = models.CharField(max_length=200, help_text="meta.name of the document")
    metric = models.JSONField(default=str, help_text="meta.metric: a name, a list of names or 'all'")
    meta = models.JSONField(default=dict, help_text="the document's meta object as imported")
    region_names = models.JSONField(default=list)
    condition_names = models.JSONField(default=list)
    extra = models.JSONField(default=dict, help_text="unknown top-level keys, kept for export")
    notices = models.JSONField(default=list, help_text="what the import changed, and what looks wrong")
    findings = models.JSONField(default=list, help_text="findings of the linter: code, severity, place …")
    size = models.PositiveBigIntegerField(
        default=0, help_text="bytes of sentences, predictions and meta; see suites.quotas"
    )
    join_policy = models.CharField(max_length=8, choices=JoinPolicy.choices, default=JoinPolicy.SPACE)
    edits = models.PositiveIntegerField(
        default=0, help_text="grows with every edit of a draft and never shrinks within a suite"
    )
    structure = models.PositiveIntegerField(
        default=0, help_text="`edits` when items, conditions or regions of the draft last changed"
    )
    sha256 = models.CharField(max_length=64, blank=True)
    note = models.TextField(blank=True, help_text="What changed in this revision.")
    errata = models.TextField(blank=True)
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    frozen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["suite_id", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["suite", "number"], name="revision_number_once"),
            models.UniqueConstraint(
                fields=["suite"], condition=models.Q(state="draft"), name="one_draft_per_suite"
            ),
            models.CheckConstraint(
                condition=models.Q(state="draft") | ~models.Q(sha256=""), name="frozen_has_sha256"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.suite} r{self.number}"

    def get_absolute_url(self) -> str:
        return reverse("suite-revision", args=[self.suite.slug, self.number])

    @property
    def is_frozen(self) -> bool:
        return self.state == self.State.FROZEN

    @property
    def regions(self) -> dict[int, str]:
        """Map of region number (from 1) to name."""
        return dict(enumerate(self.region_names, start=1))

    @property
    def item_numbers(self) -> list[int]:
        """Item numbers in document order."""
        return list(dict.fromkeys(self.sentences.order_by("position").values_list("item", flat=True)))

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        if SuiteRevision.objects.filter(pk=self.pk, state=self.State.FROZEN).exists():
            raise FrozenRevision(f"{self} is frozen and cannot be deleted")
        return super().delete(*args, **kwargs)

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk and SuiteRevision.objects.filter(pk=self.pk, state=self.State.FROZEN).exists():
            raise FrozenRevision(f"{self} is frozen; open a new draft to change it")
        super().save(*args, **kwargs)


class _RevisionPart(models.Model):
    """A row of a revision. Only rows of drafts may change."""

    class Meta:
        abstract = True

    def _refuse_if_frozen(self) -> None:
        if SuiteRevision.objects.filter(pk=self.revision_id, state=SuiteRevision.State.FROZEN).exists():  # type: ignore[attr-defined]
            raise FrozenRevision("this row belongs to a frozen revision")

    def save(self, *args: Any, **kwargs: Any) -> None:
        self._refuse_if_frozen()
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse_if_frozen()
        return super().delete(*args, **kwargs)


class Sentence(_RevisionPart):
    """One row of the grid: an item in a condition, split into regions."""

    revision = models.ForeignKey(SuiteRevision, on_delete=models.CASCADE, related_name="sentences")
    position = models.PositiveIntegerField()
    item = models.IntegerField()
    condition = models.CharField(max_length=200)
    contents = models.JSONField(help_text="text of each region, trimmed")
    raw = models.JSONField(null=True, blank=True, help_text="text as imported where it differs")
    extra = models.JSONField(default=dict)

    class Meta:
        ordering = ["revision_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["revision", "position"], name="sentence_position_once"),
            models.UniqueConstraint(fields=["revision", "item", "condition"], name="sentence_once_per_cell"),
        ]

    def __str__(self) -> str:
        return f"item {self.item}, {self.condition}"


class Prediction(_RevisionPart):
    revision = models.ForeignKey(SuiteRevision, on_delete=models.CASCADE, related_name="predictions")
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True)
    formula = models.TextField()
    extra = models.JSONField(default=dict)

    class Meta:
        ordering = ["revision_id", "position"]
        constraints = [
            models.UniqueConstraint(fields=["revision", "position"], name="prediction_position_once")
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        return self.name or f"Prediction {self.position + 1}"


class DraftEdit(models.Model):
    """One edit of a draft by one user. The log makes edits idempotent, and it is the history of the draft."""

    suite = models.ForeignKey(Suite, on_delete=models.CASCADE, related_name="edits")
    edit_id = models.CharField(max_length=64)
    version = models.PositiveIntegerField(help_text="version of the draft after this edit")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    ops = models.JSONField(help_text="as applied; see docs/grid.md")
    conflicts = models.JSONField(
        default=list, help_text="operations that were not applied; returned again if the edit is resent"
    )
    undo = models.JSONField(
        null=True, help_text="undoes the edit; see lmgym.suites.history. Null: no longer kept"
    )
    undo_size = models.PositiveBigIntegerField(default=0, help_text="bytes of undo")
    size = models.PositiveBigIntegerField(default=0, help_text="bytes of ops, conflicts and undo")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["suite_id", "version"]
        constraints = [
            models.UniqueConstraint(fields=["suite", "edit_id"], name="edit_once"),
            models.UniqueConstraint(fields=["suite", "version"], name="one_edit_per_version"),
        ]

    def __str__(self) -> str:
        return f"edit {self.version} of suite {self.suite_id}"


class LintIgnore(models.Model):
    """A lint finding that an editor dismissed, with the reason."""

    suite = models.ForeignKey(Suite, on_delete=models.CASCADE, related_name="lint_ignores")
    code = models.CharField(max_length=60)
    where = models.CharField(max_length=500)
    reason = models.CharField(max_length=1000)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["suite_id", "code", "where"]
        constraints = [
            models.UniqueConstraint(fields=["suite", "code", "where"], name="finding_ignored_once")
        ]

    def __str__(self) -> str:
        return f"{self.code} ({self.where})"


KEEP_IMPORTS = timedelta(days=7)


def new_import_key() -> str:
    return secrets.token_hex(10)


class SuiteImport(models.Model):
    """One import of one or more files, with the outcome of each. Deleted after KEEP_IMPORTS; its suites are kept."""

    key = models.SlugField(max_length=24, unique=True, default=new_import_key, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    target = models.ForeignKey(
        Suite,
        on_delete=models.CASCADE,
        null=True,
        related_name="+",
        help_text="suite whose draft the file replaces",
    )
    options = models.JSONField(default=dict, help_text="see suites.options.ImportOptions")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created", "-pk"]

    def __str__(self) -> str:
        return f"import {self.key}"

    def get_absolute_url(self) -> str:
        return reverse("suite-import-report", args=[self.key])


class ImportedFile(models.Model):
    """One file of an import. Its bytes are stored only while it has open questions."""

    class State(models.TextChoices):
        MADE = "made", "imported"
        THERE = "there", "here already"
        ASKS = "asks", "with open questions"
        REFUSED = "refused", "not read"

    batch = models.ForeignKey(SuiteImport, on_delete=models.CASCADE, related_name="files")
    position = models.PositiveIntegerField()
    name = models.CharField(max_length=200)
    state = models.CharField(max_length=8, choices=State.choices)
    data = models.BinaryField(default=bytes)
    answers = models.JSONField(default=dict, help_text="see lmgym.suites.intake.ParseOptions")
    report = models.JSONField(
        default=dict, help_text="text, problems, notices; what was done after the import"
    )
    suite = models.ForeignKey(Suite, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ["batch_id", "position"]

    def __str__(self) -> str:
        return self.name
