"""Corpora, and games played on them or uploaded as logs."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.contenttypes.fields import GenericRelation
from django.core.validators import RegexValidator
from django.db import models
from django.urls import reverse

from gym.runs.models import new_key
from gym.sharing import addresses
from gym.sharing.models import Collaborator, Invitation, VisibilityField
from lmgym.lmchallenge.logs.version5 import GAME_WORDS as GAME_WORDS_5
from lmgym.lmchallenge.play.games import GAME_WORDS

RESERVED = ("new",)
PLAY = "lmc_play"
COUNT = "lmc_count"
"""Job kinds for games. COUNT only computes the statistics of an existing log."""
HEADLINES = {
    "wp": ("", "hit3"),
    "tc": ("", "pcpc"),
    "ic": ("", "accuracy"),
    "wc": ("prediction", "hit3"),
    "we": ("entropy", "mean"),
    "ce": ("entropy", "mean"),
    "wr": ("reranking", "accuracy"),
}
"""Block of the statistics ("" in version 4, which has no blocks) and name of the main metric, by game."""
FORMS = (("text", "plain text"), ("json", "JSON lines"))


class Corpus(addresses.Addressed):
    """A text to play on. The text never changes: a corrected one becomes a new corpus."""

    slug = models.SlugField(
        max_length=80,
        unique=True,
        validators=[RegexValidator(rf"^(?!({'|'.join(RESERVED)})$)", "This name is reserved.")],
    )
    title = models.CharField(max_length=200)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="corpora")
    visibility = VisibilityField()
    language = models.CharField(max_length=35, blank=True, help_text="e.g. en, de-CH.")
    licence = models.CharField(
        max_length=60, blank=True, help_text="e.g. CC-BY-4.0, CC0-1.0. Empty: not stated."
    )
    description = models.TextField(blank=True, help_text="Source of the text.")
    form = models.CharField(max_length=4, choices=FORMS)
    packed = models.BinaryField(help_text="the file as uploaded, compressed with gzip")
    sha256 = models.CharField(max_length=64, help_text="of the uncompressed file")
    size = models.PositiveBigIntegerField(help_text="bytes, uncompressed")
    lines = models.PositiveIntegerField()
    characters = models.PositiveIntegerField(help_text="code points of the texts")
    tokens = models.PositiveIntegerField()
    users = models.PositiveIntegerField()
    warnings = models.JSONField(default=list, help_text="[{code, line, count, message}]")
    shown = models.JSONField(
        default=list, help_text="the first lines: [{number, text, user, timestamp, tokens}]"
    )
    created = models.DateTimeField(auto_now_add=True)
    updated = models.DateTimeField(auto_now=True)
    invitations = GenericRelation(Invitation)

    class Meta:
        ordering = ["title", "pk"]
        verbose_name_plural = "corpora"

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("lmc-corpus", args=[self.slug])


class CorpusCollaborator(Collaborator):
    thing = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="collaborations")


class Game(models.Model):
    """A game played on this site (corpus, player and options), or an uploaded log of a game."""

    class Kind(models.TextChoices):
        MODEL = "model", "model of this site"
        PROCESS = "process", "model program"
        ADAPTIVE = "adaptive", "adaptive n-gram"
        UPLOADED = "uploaded", "uploaded log"

    key = models.SlugField(max_length=24, unique=True, default=new_key, editable=False)
    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, null=True, blank=True, related_name="games")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="lmc_games"
    )
    title = models.CharField(max_length=200, help_text="Shown in lists.")
    description = models.TextField(blank=True)
    visibility = VisibilityField()
    game = models.CharField(max_length=2, choices=sorted((GAME_WORDS | GAME_WORDS_5).items()))
    kind = models.CharField(max_length=8, choices=Kind.choices)
    model = models.ForeignKey(
        "models_registry.RegisteredModel",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="lmc_games",
    )
    player = models.CharField(
        max_length=200, blank=True, help_text="slug of the model, or name of the program"
    )
    options = models.JSONField(default=dict, help_text="GameOptions, or Options of version 5, by field name")
    words = models.BinaryField(
        default=bytes, help_text="vocabulary of ic and wr, one word per line, compressed with gzip"
    )
    n_words = models.PositiveIntegerField(default=0)
    filename = models.CharField(max_length=200, blank=True)
    job = models.OneToOneField(
        "jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="lmc_game"
    )

    lines = models.PositiveIntegerField(default=0, help_text="of the log")
    size = models.PositiveBigIntegerField(default=0, help_text="bytes of the log, uncompressed")
    packed_size = models.PositiveBigIntegerField(default=0, help_text="bytes of the log, compressed")
    has_targets = models.BooleanField(default=True)
    has_predictions = models.BooleanField(default=False)
    fingerprint = models.CharField(
        max_length=64, blank=True, help_text="hash of the text: users and targets in order"
    )
    statistics = models.JSONField(
        default=dict,
        help_text="{filter: {all, user, mix, search, more, notices}}; see gym.lmchallenge.counting",
    )
    report = models.JSONField(default=dict, help_text="latency, oddities, provenance")
    problem = models.TextField(blank=True, help_text="why the game ended before the end of the corpus")
    counted_at = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created", "-pk"]

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("lmc-game", args=[self.key])

    @property
    def played_by(self) -> str:
        """The player as the API accepts it: model:SLUG, process:NAME or adaptive; empty for an uploaded log."""
        if self.kind in (self.Kind.MODEL, self.Kind.PROCESS):
            return f"{self.kind}:{self.player}"
        return str(self.kind) if self.kind == self.Kind.ADAPTIVE else ""

    @property
    def is_uploaded(self) -> bool:
        return self.kind == self.Kind.UPLOADED

    @property
    def only_counts(self) -> bool:
        """Whether the job only computes statistics, without playing."""
        return self.job is not None and self.job.kind == COUNT

    @property
    def version(self) -> int:
        """Version of LM Challenge."""
        return 5 if self.game in GAME_WORDS_5 else 4

    @property
    def has_filters(self) -> bool:
        """Whether statistics can be restricted to the tokens that pass a filter."""
        return self.has_targets and self.version == 4

    @property
    def is_counted(self) -> bool:
        return self.counted_at is not None

    @property
    def state(self) -> str:
        """The job's state, "done" once the game has statistics, or "lost" if the job no longer exists."""
        if self.job is not None and self.job.state != "done":
            return str(self.job.state)
        return "done" if self.is_counted else "lost"

    @property
    def headline(self) -> tuple[str, float | None] | None:
        """Name and value of the main metric over tokens with a letter or an emoji; over all tokens if the log has no
        words; for a version 5 log over the selected tokens. None before the log is counted.
        """
        statistics: dict[str, Any] = self.statistics.get("alphaemoji" if self.has_filters else "all", {})
        if not statistics.get("all"):
            return None
        part, name = HEADLINES[self.game]
        figures = statistics["all"][0]
        return name, (figures.get(part, {}) if part else figures).get(name)


class FormerCorpusAddress(addresses.FormerAddress):
    OF = "corpus"

    corpus = models.ForeignKey(Corpus, on_delete=models.SET_NULL, null=True, related_name="former_addresses")


class FormerGameKey(addresses.FormerKey):
    OF = "game"

    game = models.ForeignKey(Game, on_delete=models.CASCADE, related_name="former_keys")


class LogChunk(models.Model):
    """Whole lines of a log, compressed separately. All chunks in order form a gzip file."""

    game = models.ForeignKey(Game, on_delete=models.CASCADE, related_name="chunks")
    first_line = models.PositiveIntegerField(help_text="from 1")
    lines = models.PositiveIntegerField()
    packed = models.BinaryField()

    class Meta:
        ordering = ["game_id", "first_line"]
        constraints = [models.UniqueConstraint(fields=["game", "first_line"], name="log_line_stored_once")]

    def __str__(self) -> str:
        return f"lines {self.first_line} to {self.first_line + self.lines - 1} of {self.game_id}"


class TextIndex(models.Model):
    """Search index of a game's log; see lmgym.lmchallenge.logs.text_index."""

    game = models.OneToOneField(Game, on_delete=models.CASCADE, related_name="text_index")
    packed = models.BinaryField()

    class Meta:
        verbose_name_plural = "text indexes"

    def __str__(self) -> str:
        return f"index of {self.game_id}"
