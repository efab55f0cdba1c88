"""Response bodies about runs, their results, batches and uploads."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from gym.api.records import RecordSerializer
from gym.jobs.api import WaitingReasonField
from gym.jobs.models import Job
from gym.runs.models import ResultUpload, SuiteRun
from gym.runs.permissions import may_know_owner
from gym.runs.read.presenters import ItemRow
from gym.runs.work.upload_plan import PlannedRun, notices_of, warnings_of
from lmgym.runs import tables
from lmgym.runs.against_chance import ALPHA, CHANCE_WORDS
from lmgym.runs.compute import region_bits, token_bits
from lmgym.runs.outcomes import COUNTS, PredictionOutcome
from lmgym.runs.rules import RULES
from lmgym.suites.formulas import OUTCOME_NAMES

STATES = Job.State.choices


VERDICT = f"at {ALPHA} one-sided; empty if there is nothing to compare"


class VerdictField(serializers.ChoiceField):
    def __init__(self, source: str = "verdict.against_chance", **more: Any) -> None:
        super().__init__([*CHANCE_WORDS, ""], source=source, **more)


class BelowField(serializers.FloatField):
    def __init__(self, source: str = "verdict.p_below", **more: Any) -> None:
        super().__init__(
            source=source,
            allow_null=True,
            help_text="one-sided, exact; 1 if the rate is not below chance",
            **more,
        )


class PredictionRateSerializer(RecordSerializer):
    """One prediction over all items; `ties` and `not_evaluable` count as failures. The predictions of a run are one
    family of tests against chance."""

    against_chance = serializers.ChoiceField([*CHANCE_WORDS, ""], help_text=f"by the corrected p, {VERDICT}")

    class Meta:
        dataclass = tables.PredictionRate


class RuleScoreSerializer(RecordSerializer):
    """A run under a scoring rule; `rate` is null if it lacks predictions that the rule needs."""

    rule = serializers.ChoiceField(list(RULES))
    p_below = BelowField()
    against_chance = VerdictField(help_text=f"by the exact p, {VERDICT}")

    class Meta:
        dataclass = tables.RuleScore


class ProgressSerializer(serializers.Serializer[Any]):
    job = serializers.UUIDField(source="pk")
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    eta_seconds = serializers.FloatField(allow_null=True)
    error = serializers.CharField()
    behind = WaitingReasonField()


class RunSerializer(serializers.ModelSerializer[SuiteRun]):
    id = serializers.CharField(source="key")
    suite = serializers.CharField(source="revision.suite.slug")
    revision = serializers.IntegerField(source="revision.number")
    model = serializers.CharField(source="model.slug")
    owner = serializers.SerializerMethodField(
        help_text="user name; null if the account was deleted, or if you do not work on the unlisted suite and did not "
        "queue the run"
    )
    state = serializers.ChoiceField(STATES)
    policy = serializers.DictField()
    provenance = serializers.DictField()
    progress = ProgressSerializer(source="job", allow_null=True)
    predictions = PredictionRateSerializer(source="rates", many=True)
    scores = RuleScoreSerializer(many=True)
    unknown_words = serializers.ListField(
        child=serializers.CharField(),
        help_text="the first 200 words that the model does not know or splits",
    )
    coverage = serializers.FloatField(
        allow_null=True, help_text="share of distinct words that the model knows; null: not counted"
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
    """A model on a suite of a batch: its run, or the reason why there is none."""

    suite = serializers.CharField()
    model = serializers.CharField()
    run = serializers.CharField(allow_null=True, help_text="id of the run")
    existing = serializers.BooleanField(help_text="this run already existed")
    error = serializers.CharField(allow_null=True)


class BatchSerializer(serializers.Serializer[Any]):
    queued = serializers.IntegerField()
    refused = serializers.IntegerField()
    cells = CellSerializer(many=True)


class OutcomeSerializer(RecordSerializer):
    outcome = serializers.ChoiceField(OUTCOME_NAMES)

    class Meta:
        dataclass = tables.Outcome
        fields = ["prediction", "outcome", "margin", "too_close"]


class ItemSerializer(serializers.Serializer[Any]):
    """An item of a run. The context must contain the predictions' `labels`."""

    item = serializers.IntegerField()
    outcomes = serializers.SerializerMethodField()

    @extend_schema_field(OutcomeSerializer(many=True))
    def get_outcomes(self, row: ItemRow) -> list[dict[str, Any]]:
        return [
            {"prediction": label, "outcome": OUTCOME_NAMES[code], "margin": margin, "too_close": close}
            for label, (code, margin, close) in zip(self.context["labels"], row.cells, strict=True)
        ]


class RegionSerializer(RecordSerializer):
    class Meta:
        dataclass = tables.Region
        fields = ["region_number", "region", "content", "surprisal", "not_computed"]


class SentenceHead(serializers.Serializer[Any]):
    item = serializers.IntegerField(source="sentence.item")
    condition = serializers.CharField(source="sentence.condition")
    text = serializers.CharField(help_text="as the model read it")
    surprisal = serializers.FloatField(allow_null=True, help_text="of the sentence, in bits")
    special_surprisal = serializers.FloatField(help_text="outside regions, in bits")
    failure = serializers.CharField(help_text="why it has no scores, or empty")


class SentenceRegionsSerializer(SentenceHead):
    regions = serializers.SerializerMethodField()

    @extend_schema_field(RegionSerializer(many=True))
    def get_regions(self, row: Any) -> list[dict[str, Any]]:
        cells = region_bits(self.context["regions"], row.sentence.contents, row)
        return RegionSerializer(cells, many=True).data  # type: ignore[return-value]  # a list with many=True


class ScoredTokenSerializer(RecordSerializer):
    token_id = serializers.IntegerField(allow_null=True)

    class Meta:
        dataclass = tables.Token
        ref_name = "ScoredToken"
        fields = [
            "token",
            "token_id",
            "start",
            "end",
            "surprisal",
            "region_number",
            "straddles",
            "not_computed",
        ]


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
    report = serializers.DictField(help_text="unmatched suites, refused runs, notices, warnings")
    state = serializers.ChoiceField(STATES, help_text="“done”, unless a job creates the runs")
    progress = ProgressSerializer(
        source="job", allow_null=True, help_text="progress of the job; null if there is none"
    )

    class Meta:
        model = ResultUpload
        fields = ["id", "kind", "files", "report", "state", "progress", "created", "runs"]
        read_only_fields = fields


class PredictionCountsSerializer(RecordSerializer):
    """One prediction over all items; `ties` and `not_evaluable` count as failures."""

    prediction_number = serializers.IntegerField(help_text="number of the prediction in its suite, from 1")
    prediction = serializers.CharField(help_text="name of the prediction, or “Prediction 2”")
    rate = serializers.FloatField(allow_null=True)

    class Meta:
        dataclass = PredictionOutcome
        ref_name = "PredictionCounts"
        fields = ["prediction_number", "prediction", "formula", *COUNTS]


class PlannedSerializer(serializers.Serializer[Any]):
    suite = serializers.CharField(source="revision.suite.slug")
    revision = serializers.IntegerField(source="revision.number")
    model = serializers.CharField(source="part.model", help_text="name of the model in the file, or empty")
    predictions = PredictionCountsSerializer(source="applied.result.predictions", many=True)
    missing = serializers.ListField(source="applied.missing", child=serializers.CharField())
    n_failed = serializers.SerializerMethodField(help_text="sentences that could not be matched")
    notices = serializers.SerializerMethodField()
    warnings = serializers.SerializerMethodField(
        help_text="reasons why the values might not be surprisals in bits"
    )

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
