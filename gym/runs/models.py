"""Runs of models on frozen suite revisions with all their results, and sentences scored without a suite."""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone

from gym.jobs.models import HasJob
from gym.sharing.addresses import NOTE, FormerKey
from lmgym.models.engine.policy import BOS_POLICIES
from lmgym.runs.against_chance import Verdict, alone, verdicts
from lmgym.runs.compute import STORED as SENTENCE_COLUMNS
from lmgym.runs.compute import SentenceResult
from lmgym.runs.coverage import Spelling, coverage_share, coverage_words
from lmgym.runs.outcomes import STORED as PREDICTION_COLUMNS
from lmgym.runs.outcomes import PredictionOutcome
from lmgym.runs.tables import PredictionRate, prediction_rate
from models_registry.models import RegisteredModel
from suites.models import Prediction, Sentence, SuiteRevision


def new_key() -> str:
    """Return a random key for URLs that cannot be guessed, since the suite may be unlisted."""
    return secrets.token_hex(10)


class ResultUpload(models.Model):
    """An uploaded file of results computed elsewhere, with a report of its import. The file itself is deleted once its
    runs exist. Only files with many runs have a job, which creates them."""

    key = models.SlugField(max_length=24, unique=True, default=new_key, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="result_uploads"
    )
    kind = models.CharField(max_length=10, help_text="one of lmgym.runs.uploaded.KINDS")
    files = models.JSONField(help_text="[{name, sha256, bytes}]")
    report = models.JSONField(default=dict, help_text="unmatched suites, refused runs, notices, warnings")
    job = models.OneToOneField(
        "jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="result_upload"
    )
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created", "-pk"]

    def __str__(self) -> str:
        return str(self.files[0]["name"]) if self.files else self.key

    def get_absolute_url(self) -> str:
        return reverse("upload-report", args=[self.key])

    @property
    def state(self) -> str:
        """The job's state; "done" if there is no job."""
        return self.job.state if self.job is not None else "done"


class UploadInput(models.Model):
    """Input of an upload's job, fixed when the job is queued and deleted when it is done."""

    upload = models.OneToOneField(
        ResultUpload, on_delete=models.CASCADE, primary_key=True, related_name="waiting"
    )
    file = models.BinaryField()
    spec = models.BinaryField(null=True, help_text="spec.json of LM Zoo files")
    unit = models.CharField(max_length=10, help_text="one of lmgym.runs.uploaded.UNITS")
    revision_ids = models.JSONField(help_text="name of a suite in the file -> pk of its revision")
    model_ids = models.JSONField(help_text="name of a model in the file -> pk of the model")

    def __str__(self) -> str:
        return f"input of {self.upload}"


class SuiteRun(HasJob, models.Model):
    """One model on one frozen revision under one policy. `completed_at` is set in the transaction that writes the
    outcomes, so a run has either all of them or none."""

    class Source(models.TextChoices):
        COMPUTED = "computed", "computed here"
        UPLOADED = "uploaded", "uploaded"

    class Standing(models.IntegerChoices):
        """Rank of a run among the runs of the same model on the same revision. The run with the highest rank
        counts; see policies.py."""

        PARTIAL = 0, "lacks predictions"
        OTHER = 1, "another policy"
        DEFAULT = 2, "default policy"

    key = models.SlugField(max_length=24, unique=True, default=new_key, editable=False)
    revision = models.ForeignKey(
        SuiteRevision, on_delete=models.PROTECT, related_name="runs", db_index=False
    )  # runs_same_model begins with it
    model = models.ForeignKey(RegisteredModel, on_delete=models.PROTECT, related_name="runs")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="runs"
    )
    job = models.OneToOneField(
        "jobs.Job", on_delete=models.SET_NULL, null=True, blank=True, related_name="suite_run"
    )
    source = models.CharField(max_length=8, choices=Source.choices, default=Source.COMPUTED)
    upload = models.ForeignKey(
        ResultUpload, on_delete=models.SET_NULL, null=True, blank=True, related_name="runs"
    )
    policy = models.JSONField(help_text="see ScoringPolicy")
    scorer = models.CharField(
        max_length=64, blank=True, help_text="see score_store.scorer_key; chunks belong to it"
    )
    provenance = models.JSONField(default=dict, help_text="hashes, device, dtype, versions")
    created = models.DateTimeField(auto_now_add=True)
    completed_at = models.DateTimeField(null=True, blank=True, help_text="when the results were stored")
    standing = models.PositiveSmallIntegerField(
        choices=Standing.choices, default=Standing.DEFAULT, help_text="written with the outcomes"
    )

    n_sentences = models.PositiveIntegerField(default=0)
    n_unique = models.PositiveIntegerField(default=0)
    n_cached = models.PositiveIntegerField(default=0)
    n_unscored = models.PositiveIntegerField(default=0, help_text="sentences the model could not score")
    n_words = models.PositiveIntegerField(
        null=True, help_text="distinct words in its sentences; null = not counted"
    )
    n_unknown_words = models.PositiveIntegerField(
        null=True,
        help_text="distinct words that the model does not know or splits; see lmgym/runs/coverage.py",
    )
    unknown_words = models.JSONField(
        default=list, help_text="the first unknown words, in order of appearance"
    )
    region_summary = models.JSONField(
        default=list, help_text="mean bits and interval by condition and region"
    )

    class Meta:
        ordering = ["-created", "-pk"]
        indexes = [
            models.Index(
                fields=["-created"], condition=models.Q(completed_at=None), name="runs_without_results"
            ),
            models.Index(fields=["-created", "-id"], name="runs_newest_first"),
            # Whether a run counts depends on the others of its model on its revision. A model has a run on each
            # of a thousand suites.
            models.Index(fields=["revision", "model"], name="runs_same_model"),
        ]

    def __str__(self) -> str:
        return f"{self.model.slug} on {self.revision}"

    def get_absolute_url(self) -> str:
        return reverse("run-detail", args=[self.key])

    @property
    def is_uploaded(self) -> bool:
        return self.source == self.Source.UPLOADED

    @property
    def has_surprisals(self) -> bool:
        """Whether the run has surprisals; False for uploads that contain only outcomes."""
        return not self.is_uploaded or bool(self.policy)

    @property
    def has_all_tokens(self) -> bool:
        """Whether all tokens were computed, not only those in regions that predictions refer to."""
        return bool(self.policy.get("tokens") != "needed")

    @property
    def names_start_token(self) -> bool:
        """Whether the policy names a specific start token, instead of the model's own or none."""
        return self.policy.get("bos", BOS_POLICIES[0]) not in BOS_POLICIES

    @property
    def whitespace(self) -> str:
        """Whitespace correction of the values; empty if an uploaded file does not state it."""
        return str(self.policy.get("whitespace", ""))

    @property
    def coverage(self) -> float | None:
        """Share of the run's words that the model knows; None if they were not counted."""
        return coverage_share(self.n_words, self.n_unknown_words)

    @property
    def coverage_words(self) -> str:
        """`coverage` in words; empty if all words are known or they were not counted."""
        return coverage_words(self.n_words, self.n_unknown_words)

    @property
    def spelling(self) -> Spelling:
        """Counts that show how finely the tokenizer splits words; all 0 if nothing was counted."""
        return Spelling.from_json(self.provenance.get("spelling"))

    def rates(self) -> list[PredictionRate]:
        """Return the rates of the predictions, which are tested together. Prefetch `prediction_results` with
        `prediction`."""
        results = list(self.prediction_results.all())
        return [
            prediction_rate(row.position, row.prediction.label, row.formula, row, verdict, row)
            for row, verdict in zip(results, verdicts(results, coverage=self.coverage), strict=True)
        ]

    @property
    def score_kind(self) -> str:
        """Kind of values: surprisal, or the pseudo-log-likelihood of a masked model."""
        return str(self.provenance.get("score_kind") or "surprisal")


class FormerRunKey(FormerKey):
    OF = "run"

    run = models.ForeignKey(SuiteRun, on_delete=models.CASCADE, related_name="former_keys")


class DeletedRun(models.Model):
    """Description of a deleted public run, shown at its old address; see work/deleted_runs.py. It names no people, and
    uses plain text instead of foreign keys because it outlives the suite and model."""

    key = models.SlugField(max_length=24, unique=True)
    suite = models.CharField(max_length=200, help_text="slug")
    revision = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64, help_text="of the revision")
    model = models.CharField(max_length=200, help_text="slug")
    model_name = models.CharField(max_length=200)
    note = models.TextField(
        blank=True, max_length=NOTE, help_text="shown to everyone at the run's former address"
    )
    deleted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-deleted_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.model} on {self.suite} r{self.revision}, deleted"


class RunChunk(models.Model):
    """A set of sentences that are scored together. Chunks are planned only once, so that numbers do not
    depend on killed workers."""

    run = models.ForeignKey(SuiteRun, on_delete=models.CASCADE, related_name="chunks")
    number = models.PositiveIntegerField()
    positions = models.JSONField(help_text="sentence positions whose texts this chunk scores")
    scores = models.JSONField(
        null=True,
        help_text="text -> scores that lack tokens (score_store.to_json); null once the run is done",
    )
    done = models.BooleanField(default=False, help_text="its texts are scored")
    taken_by = models.UUIDField(null=True, help_text="the job that claimed the chunk last")
    taken_attempt = models.PositiveIntegerField(default=0, help_text="attempt of that job")

    class Meta:
        ordering = ["run_id", "number"]
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="chunk_once_per_run")]

    def __str__(self) -> str:
        return f"chunk {self.number} of run {self.run_id}"


class ScoreCache(models.Model):
    """Token surprisals of one text under one scorer, kept across runs: after one cell is edited, only its sentence is
    scored."""

    scorer = models.CharField(
        max_length=64,
        help_text="sha256 of everything that may change token bits; see lmgym.runs.score_store.scorer_key",
    )
    text_sha256 = models.CharField(max_length=64)
    scores = models.JSONField(help_text="tokens, ids, offsets, bits, special; or the failure")
    created = models.DateTimeField(auto_now_add=True)
    used = models.DateTimeField(
        default=timezone.now, db_index=True, help_text="day of the last read; see work/cache.py"
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scorer", "text_sha256"], name="score_once")]

    def __str__(self) -> str:
        return f"{self.scorer[:8]}:{self.text_sha256[:8]}"


class SentenceScore(models.Model):
    """Surprisals of one sentence, by region and token."""

    run = models.ForeignKey(SuiteRun, on_delete=models.CASCADE, related_name="sentence_scores")
    sentence = models.ForeignKey(Sentence, on_delete=models.PROTECT, related_name="scores")
    text = models.TextField(help_text="the sentence as the model read it")
    regions = models.JSONField(help_text="bits per region; null = no value")
    special_surprisal = models.FloatField(default=0.0, help_text="outside regions, bits")
    surprisal = models.FloatField(null=True, help_text="of the sentence, bits; null = no value")
    tokens = models.JSONField(
        help_text="[token, id, start, end, bits, region index or -1, straddles] per token"
    )
    not_computed = models.JSONField(default=list, help_text="indices of unscored tokens")
    failure = models.TextField(blank=True, help_text="why this sentence has no scores")

    class Meta:
        ordering = ["run_id", "sentence__position"]
        constraints = [models.UniqueConstraint(fields=["run", "sentence"], name="sentence_scored_once")]

    def __str__(self) -> str:
        return f"{self.sentence} in run {self.run_id}"

    def result(self) -> SentenceResult:
        """Convert to the library's type. Fetch `sentence` in the same query."""
        sentence = self.sentence
        stored = {name: getattr(self, name) for name in SENTENCE_COLUMNS}
        return SentenceResult(sentence.position, sentence.item, sentence.condition, **stored)


class PredictionResult(models.Model):
    """Outcome of one prediction over all items of a run."""

    PER_ITEM = ("items", "outcomes", "margins", "close")
    """Large columns that list views defer."""

    run = models.ForeignKey(SuiteRun, on_delete=models.CASCADE, related_name="prediction_results")
    prediction = models.ForeignKey(Prediction, on_delete=models.PROTECT, related_name="results")
    position = models.PositiveIntegerField()
    n = models.PositiveIntegerField(help_text="items")
    passed = models.PositiveIntegerField()
    ties = models.PositiveIntegerField(help_text="items whose sides are equal; count as failures")
    not_evaluable = models.PositiveIntegerField(
        help_text="items with a region that has no value; count as failures"
    )
    too_close = models.PositiveIntegerField(
        default=0,
        help_text="items whose margin is within the numeric error (too close to call); passed or failed by the sign "
        "of the margin",
    )
    passed_with_sums = models.PositiveIntegerField(
        null=True,
        help_text="items that pass with sums of bits; null = compared regions have equally many tokens, or unknown",
    )
    passed_with_means = models.PositiveIntegerField(
        null=True, help_text="items that pass with means of bits per token"
    )
    changed_by_length = models.PositiveIntegerField(
        null=True, help_text="items that pass with only one of sums and means"
    )
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    chance = models.FloatField(null=True)
    chance_standard_error = models.FloatField(default=0.0, help_text="standard error; 0 = exact")
    mean_margin = models.FloatField(null=True)
    margin_low = models.FloatField(null=True)
    margin_high = models.FloatField(null=True)
    effect_size_g = models.FloatField(null=True, help_text="Hedges' g of the margins against 0")
    items = models.JSONField(help_text="item numbers, in document order")
    outcomes = models.JSONField(help_text="0 failed, 1 held, 2 tie, 3 not evaluable; one per item")
    margins = models.JSONField(
        help_text="bits by which the prediction held (+) or failed (−), per item; null = no value"
    )
    close = models.JSONField(default=list, help_text="per item, whether its margin is too close to call")

    class Meta:
        ordering = ["run_id", "position"]
        constraints = [models.UniqueConstraint(fields=["run", "prediction"], name="prediction_judged_once")]

    def __str__(self) -> str:
        return f"{self.prediction}: {self.passed} of {self.n}"

    judged = PredictionOutcome.judged
    rate = PredictionOutcome.rate
    p = PredictionOutcome.p
    length_words = PredictionOutcome.length_words

    @property
    def name(self) -> str:
        return self.prediction.name

    @property
    def formula(self) -> str:
        return self.prediction.formula

    def outcome(self) -> PredictionOutcome:
        """Convert to the library's type. Fetch `prediction` in the same query."""
        stored = {name: getattr(self, name) for name in PREDICTION_COLUMNS}
        return PredictionOutcome(name=self.name, formula=self.formula, **stored)

    def is_close(self, place: int) -> bool:
        """Return whether the item at this index is too close to call; False if unknown, as for uploaded outcomes."""
        return bool(self.close[place]) if self.close else False


class RunScore(models.Model):
    """Aggregates of a run under one scoring rule (lmgym.runs.rules). Leaderboards read these rows instead of
    outcomes.

    Rates are null if the run lacks predictions that the rule needs, e.g. an upload without the first
    prediction.
    """

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
    too_close = models.PositiveIntegerField(help_text="outcomes whose margin is within the numeric error")
    not_evaluable = models.PositiveIntegerField()
    rate = models.FloatField(null=True)
    low = models.FloatField(null=True, help_text="95% Wilson interval with the effective number of items")
    high = models.FloatField(null=True)
    chance = models.FloatField(null=True)
    p = models.FloatField(null=True, help_text="one-sided p against chance")
    mean_margin = models.FloatField(null=True, help_text="mean over items, bits")
    margin_low = models.FloatField(null=True)
    margin_high = models.FloatField(null=True)
    effect_size_g = models.FloatField(null=True, help_text="Hedges' g of the margins against 0")

    class Meta:
        ordering = ["run_id", "rule"]
        constraints = [models.UniqueConstraint(fields=["run", "rule"], name="run_scored_once_per_rule")]

    def __str__(self) -> str:
        return f"{self.run_id} {self.rule}"

    @property
    def verdict(self) -> Verdict:
        return alone(self, coverage=self.run.coverage)


KEEP_SCORE_REQUESTS = timedelta(hours=24)
"""Requests and their scores are deleted after this time."""


class ScoreRequest(HasJob, models.Model):
    """Sentences sent to a model, and their scores."""

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
