"""What the API says about runs and their results."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from gym.jobs.models import Job
from gym.runs.models import PredictionResult, ResultUpload, RunScore, SuiteRun
from gym.runs.permissions import may_know_owner
from gym.runs.read.presenters import ItemRow
from gym.runs.read.report import OUTCOME_NAMES, skipped_regions
from gym.runs.work.upload_plan import PlannedRun, said

STATES = Job.State.values


class PredictionResultSerializer(serializers.ModelSerializer):
    """How one prediction fared over all items; `ties` and `not_evaluable` count as failures."""

    formula = serializers.CharField(source="prediction.formula")
    name = serializers.CharField(source="prediction.name")
    rate = serializers.FloatField(allow_null=True)

    class Meta:
        model = PredictionResult
        fields = [
            "name",
            "formula",
            "passed",
            "total",
            "rate",
            "ci_low",
            "ci_high",
            "chance",
            "ties",
            "too_close",
            "not_evaluable",
            "mean_margin",
        ]
        read_only_fields = fields


class RunScoreSerializer(serializers.ModelSerializer):
    """A run under one scoring rule; `rate` is null when it lacks what the rule needs."""

    n_items = serializers.IntegerField(source="n")
    ci_low = serializers.FloatField(source="low", allow_null=True)
    ci_high = serializers.FloatField(source="high", allow_null=True)
    p_above_chance_uncorrected = serializers.FloatField(
        source="chance_p", allow_null=True, help_text="one-sided"
    )

    class Meta:
        model = RunScore
        fields = [
            "rule",
            "n_items",
            "passed",
            "judged",
            "rate",
            "ci_low",
            "ci_high",
            "chance",
            "p_above_chance_uncorrected",
            "ties",
            "too_close",
            "not_evaluable",
        ]
        read_only_fields = fields


class ProgressSerializer(serializers.Serializer):
    job = serializers.UUIDField(source="pk")
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    eta_seconds = serializers.FloatField(allow_null=True)
    error = serializers.CharField()


class RunSerializer(serializers.ModelSerializer):
    id = serializers.CharField(source="key")
    suite = serializers.CharField(source="revision.suite.slug")
    revision = serializers.IntegerField(source="revision.number")
    model = serializers.CharField(source="model.slug")
    owner = serializers.SerializerMethodField(
        help_text="user name; null when the account is gone, and in an unlisted suite of others unless it is you"
    )
    state = serializers.ChoiceField(STATES)
    policy = serializers.DictField()
    provenance = serializers.DictField()
    progress = ProgressSerializer(source="job", allow_null=True)
    predictions = PredictionResultSerializer(source="prediction_results", many=True)
    scores = RunScoreSerializer(many=True)

    class Meta:
        model = SuiteRun
        fields = [
            "id",
            "suite",
            "revision",
            "model",
            "owner",
            "state",
            "source",
            "policy",
            "provenance",
            "progress",
            "created",
            "completed_at",
            "n_sentences",
            "n_unscored",
            "predictions",
            "scores",
        ]
        read_only_fields = fields

    def get_owner(self, run: SuiteRun) -> str | None:
        known = run.owner if may_know_owner(self.context["request"].user, run) else None
        return known.username if known else None


class CellSerializer(serializers.Serializer):
    """What became of one model on one suite of a batch: a run, or the reason why there is none."""

    suite = serializers.CharField()
    model = serializers.CharField()
    run = serializers.CharField(allow_null=True, help_text="id of the run")
    error = serializers.CharField(allow_null=True)


class BatchSerializer(serializers.Serializer):
    queued = serializers.IntegerField()
    refused = serializers.IntegerField()
    cells = CellSerializer(many=True)


class OutcomeSerializer(serializers.Serializer):
    prediction = serializers.CharField()
    outcome = serializers.ChoiceField(OUTCOME_NAMES)
    margin = serializers.FloatField(allow_null=True, help_text="bits")
    too_close = serializers.BooleanField(help_text="the margin is inside the bound on the numeric error")


class ItemSerializer(serializers.Serializer):
    """`labels` of the context: those of the predictions."""

    item = serializers.IntegerField()
    outcomes = serializers.SerializerMethodField()

    @extend_schema_field(OutcomeSerializer(many=True))
    def get_outcomes(self, row: ItemRow) -> list[dict[str, Any]]:
        return [
            {"prediction": label, "outcome": OUTCOME_NAMES[code], "margin": margin, "too_close": close}
            for label, (code, margin, close) in zip(self.context["labels"], row.cells, strict=True)
        ]


class RegionSerializer(serializers.Serializer):
    region = serializers.IntegerField()
    name = serializers.CharField()
    content = serializers.CharField()
    bits = serializers.FloatField(allow_null=True)
    not_computed = serializers.BooleanField(help_text="no bits, because the run has tokens=needed")


class SentenceHead(serializers.Serializer):
    item = serializers.IntegerField(source="sentence.item")
    condition = serializers.CharField(source="sentence.condition")
    text = serializers.CharField(help_text="as the model read it")
    total_bits = serializers.FloatField(allow_null=True)
    special_bits = serializers.FloatField()
    failure = serializers.CharField(help_text="why there are no scores, or empty")


class SentenceRegionsSerializer(SentenceHead):
    regions = serializers.SerializerMethodField()

    @extend_schema_field(RegionSerializer(many=True))
    def get_regions(self, row: Any) -> list[dict[str, Any]]:
        skipped = skipped_regions(row.tokens, row.not_computed)
        cells = zip(self.context["regions"], row.sentence.contents, row.regions, strict=True)
        return [
            {
                "region": number,
                "name": name,
                "content": content,
                "bits": bits,
                "not_computed": number - 1 in skipped,
            }
            for number, (name, content, bits) in enumerate(cells, start=1)
        ]


class ScoredTokenSerializer(serializers.Serializer):
    token = serializers.CharField()
    id = serializers.IntegerField(allow_null=True)
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    bits = serializers.FloatField(allow_null=True)
    region = serializers.IntegerField(allow_null=True, help_text="null for start and end tokens")
    straddles = serializers.BooleanField(help_text="belongs to two regions")
    not_computed = serializers.BooleanField(help_text="no bits, because the run has tokens=needed")


class SentenceTokensSerializer(SentenceHead):
    tokens = serializers.SerializerMethodField()

    @extend_schema_field(ScoredTokenSerializer(many=True))
    def get_tokens(self, row: Any) -> list[dict[str, Any]]:
        skipped = set(row.not_computed)
        return [
            {
                "token": token,
                "id": number,
                "start": start,
                "end": end,
                "bits": bits,
                "region": region + 1 if isinstance(region, int) and region >= 0 else None,
                "straddles": bool(straddles),
                "not_computed": place in skipped,
            }
            for place, (token, number, start, end, bits, region, straddles) in enumerate(row.tokens)
        ]


class UploadSerializer(serializers.ModelSerializer):
    id = serializers.CharField(source="key")
    runs = serializers.SlugRelatedField("key", many=True, read_only=True)
    files = serializers.ListField(child=serializers.DictField(), help_text="name, sha256, bytes")
    report = serializers.DictField(help_text="what matched no suite, what was refused, notices")
    state = serializers.ChoiceField(
        STATES, help_text="“done”, unless the file has so many runs that a job makes them"
    )
    progress = ProgressSerializer(
        source="job", allow_null=True, help_text="of that job; null when there is none"
    )

    class Meta:
        model = ResultUpload
        fields = ["id", "kind", "files", "report", "state", "progress", "created", "runs"]
        read_only_fields = fields


class PlannedPredictionSerializer(serializers.Serializer):
    formula = serializers.CharField()
    passed = serializers.IntegerField()
    total = serializers.IntegerField()


class PlannedSerializer(serializers.Serializer):
    suite = serializers.CharField(source="revision.suite.slug")
    revision = serializers.IntegerField(source="revision.number")
    model = serializers.CharField(
        source="part.model", help_text="as the file calls it; empty when it does not say"
    )
    predictions = PlannedPredictionSerializer(source="applied.result.predictions", many=True)
    missing = serializers.ListField(source="applied.missing", child=serializers.CharField())
    n_failed = serializers.SerializerMethodField(help_text="sentences that could not be matched")
    notices = serializers.SerializerMethodField()

    def get_n_failed(self, run: PlannedRun) -> int:
        assert run.applied is not None
        return len(run.applied.failures)

    def get_notices(self, run: PlannedRun) -> list[str]:
        return said(run, self.context["notices"])


class PlanSerializer(serializers.Serializer):
    report = serializers.DictField()
    runs = PlannedSerializer(many=True)
