"""What the API says about runs and their results."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from gym.jobs.api import BehindField
from gym.jobs.models import Job
from gym.runs.models import PredictionResult, ResultUpload, RunScore, SuiteRun
from gym.runs.permissions import may_know_owner
from gym.runs.read.presenters import ItemRow
from gym.runs.work.upload_plan import PlannedRun, notices_of, warnings_of
from lmgym.runs.against_chance import ALONE, ALPHA, CHANCE_TEST, CHANCE_WORDS
from lmgym.runs.compute import region_bits, token_bits
from lmgym.runs.outcomes import COUNTS, OUTCOME_NAMES
from lmgym.runs.rules import RULE_COUNTS
from lmgym.runs.statistics import STATISTICS

STATES = Job.State.values


VERDICT = f"at {ALPHA} one-sided; empty where there is nothing to compare"


class VerdictField(serializers.ChoiceField):
    def __init__(self, source: str = "verdict.against_chance", **more: Any) -> None:
        super().__init__([*CHANCE_WORDS, ""], source=source, **more)


class BelowField(serializers.FloatField):
    def __init__(self, source: str = "verdict.p_below", **more: Any) -> None:
        super().__init__(
            source=source,
            allow_null=True,
            help_text="one-sided, exact; 1 where the rate is not below chance",
            **more,
        )


class PredictionCountsSerializer(serializers.ModelSerializer[PredictionResult]):
    """How one prediction fares over all items; `ties` and `not_evaluable` count as failures."""

    formula = serializers.CharField()
    name = serializers.CharField()
    rate = serializers.FloatField(allow_null=True)

    class Meta:
        model = PredictionResult
        fields = read_only_fields = ["name", "formula", *COUNTS]


class PredictionResultSerializer(PredictionCountsSerializer):
    """How one prediction fared over all items; `ties` and `not_evaluable` count as failures. The predictions of a
    run are one family of tests against chance."""

    p = serializers.FloatField(allow_null=True, help_text="one-sided, exact")
    p_below = BelowField()
    p_corrected = serializers.FloatField(
        source="verdict.p_corrected",
        allow_null=True,
        help_text="`p`, corrected for the predictions of the run",
    )
    p_below_corrected = serializers.FloatField(source="verdict.p_below_corrected", allow_null=True)
    against_chance = VerdictField(help_text=f"by the corrected p, {VERDICT}")

    class Meta(PredictionCountsSerializer.Meta):
        fields = read_only_fields = [
            *PredictionCountsSerializer.Meta.fields, "p", *CHANCE_TEST,
        ]  # fmt: skip


class RunScoreSerializer(serializers.ModelSerializer[RunScore]):
    """A run under one scoring rule; `rate` is null when it lacks what the rule needs."""

    p_below = BelowField()
    against_chance = VerdictField(help_text=f"by the exact p, {VERDICT}")

    class Meta:
        model = RunScore
        fields = read_only_fields = ["rule", *RULE_COUNTS, *ALONE, *STATISTICS]


class ProgressSerializer(serializers.Serializer[Any]):
    job = serializers.UUIDField(source="pk")
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    eta_seconds = serializers.FloatField(allow_null=True)
    error = serializers.CharField()
    behind = BehindField()


class RunSerializer(serializers.ModelSerializer[SuiteRun]):
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
    predictions = PredictionResultSerializer(source="tested_predictions", many=True)
    scores = RunScoreSerializer(many=True)
    unknown_words = serializers.ListField(
        child=serializers.CharField(),
        help_text="words the model does not know or spells in pieces, the first 200 by name",
    )
    coverage = serializers.FloatField(
        allow_null=True, help_text="share of different words that the model knows; null: not counted"
    )

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
            "n_words",
            "n_unknown_words",
            "unknown_words",
            "coverage",
            "predictions",
            "scores",
        ]
        read_only_fields = fields

    def get_owner(self, run: SuiteRun) -> str | None:
        known = run.owner if may_know_owner(self.context["request"].user, run) else None
        return known.username if known else None


class CellSerializer(serializers.Serializer[Any]):
    """What became of one model on one suite of a batch: a run, or the reason why there is none."""

    suite = serializers.CharField()
    model = serializers.CharField()
    run = serializers.CharField(allow_null=True, help_text="id of the run")
    there = serializers.BooleanField(help_text="the same run is there already, and none was queued")
    error = serializers.CharField(allow_null=True)


class BatchSerializer(serializers.Serializer[Any]):
    queued = serializers.IntegerField()
    refused = serializers.IntegerField()
    cells = CellSerializer(many=True)


class OutcomeSerializer(serializers.Serializer[Any]):
    prediction = serializers.CharField()
    outcome = serializers.ChoiceField(OUTCOME_NAMES)
    margin = serializers.FloatField(allow_null=True, help_text="bits")
    too_close = serializers.BooleanField(help_text="the margin is inside the bound on the numeric error")


class ItemSerializer(serializers.Serializer[Any]):
    """`labels` of the context: those of the predictions."""

    item = serializers.IntegerField()
    outcomes = serializers.SerializerMethodField()

    @extend_schema_field(OutcomeSerializer(many=True))
    def get_outcomes(self, row: ItemRow) -> list[dict[str, Any]]:
        return [
            {"prediction": label, "outcome": OUTCOME_NAMES[code], "margin": margin, "too_close": close}
            for label, (code, margin, close) in zip(self.context["labels"], row.cells, strict=True)
        ]


class RegionSerializer(serializers.Serializer[Any]):
    region_number = serializers.IntegerField(help_text="from 1")
    region = serializers.CharField(help_text="its name")
    content = serializers.CharField()
    surprisal = serializers.FloatField(allow_null=True, help_text="bits")
    not_computed = serializers.BooleanField(help_text="no value, because the run has tokens=needed")


class SentenceHead(serializers.Serializer[Any]):
    item = serializers.IntegerField(source="sentence.item")
    condition = serializers.CharField(source="sentence.condition")
    text = serializers.CharField(help_text="as the model read it")
    surprisal = serializers.FloatField(allow_null=True, help_text="of the sentence, bits")
    special_surprisal = serializers.FloatField(help_text="outside regions, bits")
    failure = serializers.CharField(help_text="why there are no scores, or empty")


class SentenceRegionsSerializer(SentenceHead):
    regions = serializers.SerializerMethodField()

    @extend_schema_field(RegionSerializer(many=True))
    def get_regions(self, row: Any) -> list[dict[str, Any]]:
        cells = region_bits(self.context["regions"], row.sentence.contents, row)
        return RegionSerializer(cells, many=True).data  # type: ignore[return-value]  # a list with many=True


class ScoredTokenSerializer(serializers.Serializer[Any]):
    token = serializers.CharField()
    token_id = serializers.IntegerField(allow_null=True)
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    surprisal = serializers.FloatField(allow_null=True, help_text="bits")
    region_number = serializers.IntegerField(
        allow_null=True, help_text="from 1; null for start and end tokens"
    )
    straddles = serializers.BooleanField(help_text="belongs to two regions")
    not_computed = serializers.BooleanField(help_text="no value, because the run has tokens=needed")


class SentenceTokensSerializer(SentenceHead):
    tokens = serializers.SerializerMethodField()

    @extend_schema_field(ScoredTokenSerializer(many=True))
    def get_tokens(self, row: Any) -> list[dict[str, Any]]:
        return ScoredTokenSerializer(token_bits(row), many=True).data  # type: ignore[return-value]  # a list


class UploadSerializer(serializers.ModelSerializer[ResultUpload]):
    id = serializers.CharField(source="key")
    runs: serializers.SlugRelatedField[SuiteRun] = serializers.SlugRelatedField(
        "key", many=True, read_only=True
    )
    files = serializers.ListField(child=serializers.DictField(), help_text="name, sha256, bytes")
    report = serializers.DictField(help_text="what matched no suite, what was refused, notices, warnings")
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


class PlannedSerializer(serializers.Serializer[Any]):
    suite = serializers.CharField(source="revision.suite.slug")
    revision = serializers.IntegerField(source="revision.number")
    model = serializers.CharField(
        source="part.model", help_text="as the file calls it; empty when it does not say"
    )
    predictions = PredictionCountsSerializer(source="applied.result.predictions", many=True)
    missing = serializers.ListField(source="applied.missing", child=serializers.CharField())
    n_failed = serializers.SerializerMethodField(help_text="sentences that could not be matched")
    notices = serializers.SerializerMethodField()
    warnings = serializers.SerializerMethodField(help_text="why the values may not be surprisals in bits")

    def get_n_failed(self, run: PlannedRun) -> int:
        assert run.applied is not None
        return len(run.applied.failures)

    def get_notices(self, run: PlannedRun) -> list[str]:
        return notices_of(run, self.context["report"])

    def get_warnings(self, run: PlannedRun) -> list[str]:
        return warnings_of(run, self.context["report"])


class PlanSerializer(serializers.Serializer[Any]):
    report = serializers.DictField()
    runs = PlannedSerializer(many=True)
