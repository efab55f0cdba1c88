"""Surprisals and outcomes of a draft before it is frozen."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.models import Scope
from gym.accounts.requests import SignedInApiRequest
from gym.api.base import referenced
from gym.api.errors import ApiProblem, FieldError, invalid, problem_for
from gym.api.operations import operation
from gym.api.records import RecordSerializer
from gym.api.requests import Body
from gym.runs.work.preview import PreviewFailed, PreviewRow, PreviewToken, Waiting, preview
from lmgym.models.engine import ScoringPolicy
from lmgym.runs import tables
from lmgym.runs.compute import metric_of
from lmgym.suites.editing import MAX_FORMULA_CHARACTERS, clean_text
from lmgym.suites.formats import (
    MAX_CELL_CHARACTERS,
    MAX_CONDITIONS,
    MAX_NAME_CHARACTERS,
    MAX_PREDICTIONS,
    MAX_REGIONS,
    PredictionDoc,
    SentenceDoc,
    SuiteDocument,
)
from lmgym.suites.formats.documents import MAX_ITEM_NUMBER
from lmgym.suites.formulas import OUTCOME_NAMES
from lmgym.suites.regions import JOIN_POLICIES, METRICS
from lmgym.text import count
from lmgym.text.columns import record
from models_registry.selectors import runnable_by
from suites.api.drafts import draft_of
from suites.api.views import SuiteView
from suites.models import SuiteRevision
from suites.selectors import document_of

MAX_ROWS = 2_000


@problem_for(PreviewFailed)
def _failed(error: PreviewFailed) -> ApiProblem:
    return ApiProblem(422, str(error), "not-scored")


class PreviewSentence(Body):
    item = serializers.IntegerField(min_value=0, max_value=MAX_ITEM_NUMBER)
    condition = serializers.CharField(max_length=MAX_NAME_CHARACTERS)
    contents = serializers.ListField(
        child=serializers.CharField(max_length=MAX_CELL_CHARACTERS, allow_blank=True, trim_whitespace=False),
        max_length=MAX_REGIONS,
        help_text="text of each region",
    )


class PreviewBody(Body):
    model = serializers.SlugField(max_length=80)
    items = serializers.ListField(
        child=serializers.IntegerField(min_value=-(2**31), max_value=2**31 - 1),
        min_length=1,
        max_length=MAX_ROWS,
        required=False,
        help_text=f"item numbers; default: all, up to {MAX_ROWS:,} sentences",
    )
    sentences = PreviewSentence(  # type: ignore[call-arg]  # max_length is of the list
        many=True,
        max_length=MAX_ROWS,
        required=False,
        help_text="sentences to score instead of the draft's, such as unsaved edits",
    )
    regions = serializers.ListField(
        child=serializers.CharField(max_length=MAX_NAME_CHARACTERS),
        max_length=MAX_REGIONS,
        required=False,
        help_text="names of the regions of `sentences`; default: the draft's",
    )
    conditions = serializers.ListField(
        child=serializers.CharField(max_length=MAX_NAME_CHARACTERS),
        max_length=MAX_CONDITIONS,
        required=False,
        help_text="conditions of `sentences`; default: the draft's",
    )
    predictions = serializers.ListField(
        child=serializers.CharField(
            max_length=MAX_FORMULA_CHARACTERS, allow_blank=True, trim_whitespace=False
        ),
        max_length=MAX_PREDICTIONS,
        required=False,
        help_text="formulas for `sentences`; default: the draft's",
    )
    metric = serializers.ChoiceField(METRICS, required=False, help_text="default: the draft's")
    join = serializers.ChoiceField(JOIN_POLICIES, required=False, help_text="default: the draft's")
    tokens = serializers.BooleanField(default=False, help_text="also return the tokens of every sentence")


class PreviewTokenSerializer(RecordSerializer):
    class Meta:
        dataclass = PreviewToken


class PreviewRowSerializer(RecordSerializer):
    tokens = PreviewTokenSerializer(many=True, allow_null=True, help_text="null: not requested")

    class Meta:
        dataclass = PreviewRow


class PreviewOutcomeSerializer(RecordSerializer):
    outcome = serializers.ChoiceField(OUTCOME_NAMES)

    class Meta:
        dataclass = tables.Outcome
        ref_name = "PreviewOutcome"
        fields = ["prediction_number", "item", "outcome", "margin", "too_close"]
        extra_kwargs = {"too_close": {"allow_null": False}}


class PreviewSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="version of the draft that was scored")
    job = serializers.UUIDField(allow_null=True, help_text="job that scores the missing sentences")
    loading = serializers.BooleanField(help_text="no worker has the model in memory yet")
    load_seconds = serializers.FloatField(
        allow_null=True, help_text="duration of the last load; null: unknown"
    )
    rows = PreviewRowSerializer(many=True)
    outcomes = PreviewOutcomeSerializer(many=True, help_text="of valid predictions, for each item")


class Preview(SuiteView):
    token_scope = Scope.RUN

    @operation(
        "Preview a model on the draft", body=PreviewBody, response=PreviewSerializer, also=[202], waits=True
    )
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Return surprisals of regions, outcomes and margins for items of the draft, or for sentences in the body.
        Stores no results. 202 while sentences are being scored: send the same request again after `Retry-After`
        seconds."""
        suite = self.get_for_change()
        body = self.body()
        draft = draft_of(suite)
        model = referenced(runnable_by(request.user), "model", slug=body["model"])
        document = _document(body, draft) if "sentences" in body else document_of(draft)
        items = body.get("items") or list(dict.fromkeys(row.item for row in document.sentences))
        chosen = set(items)
        kept = tuple(row for row in document.sentences if row.item in chosen)
        missing = sorted(chosen - {row.item for row in kept})
        if missing:
            raise invalid(FieldError("$.items", f"There is no item {missing[0]}."))
        if len(kept) > MAX_ROWS:
            raise invalid(
                FieldError(
                    "$.items", f"{len(kept):,} sentences; at most {MAX_ROWS:,} per request. Name fewer items."
                )
            )
        policy = ScoringPolicy(
            join=body.get("join", draft.join_policy), metric=body.get("metric", metric_of(document))
        )
        outcome = preview(
            suite.pk,
            replace(document, sentences=kept),
            items,
            model,
            policy,
            actor=request.user,
            tokens=body["tokens"],
        )
        if isinstance(outcome, Waiting):
            place = reverse("api-preview", args=[slug], request=request)
            data = {"version": draft.edits, **asdict(outcome), "rows": [], "outcomes": []}
            return Response(data, status=202, headers={"Location": place, "Retry-After": "1"})
        return Response(
            {
                "version": draft.edits,
                "job": None,
                "loading": False,
                "load_seconds": None,
                "rows": [_row(row) for row in outcome["rows"]],
                "outcomes": _outcomes(outcome),
            }
        )


def _row(row: PreviewRow) -> dict[str, Any]:
    tokens = None if row.tokens is None else [record(token) for token in row.tokens]
    return {**record(row), "tokens": tokens}


def _document(body: dict[str, Any], draft: SuiteRevision) -> SuiteDocument:
    """Build a document from the sentences of a body."""
    regions = body.get("regions", draft.region_names)
    conditions = body.get("conditions", draft.condition_names)
    formulas = body.get("predictions")
    if formulas is None:
        formulas = draft.predictions.order_by("position").values_list("formula", flat=True)
    sentences = {}
    for place, row in enumerate(body["sentences"]):
        where, item, condition = f"$.sentences[{place}]", row["item"], row["condition"]
        if condition not in conditions:
            raise invalid(FieldError(f"{where}.condition", f"There is no condition “{condition}”."))
        if len(row["contents"]) != len(regions):
            message = f"{count(len(row['contents']), 'text')} for {count(len(regions), 'region')}."
            raise invalid(FieldError(f"{where}.contents", message))
        contents = tuple(clean_text(text) for text in row["contents"])
        sentences[item, condition] = SentenceDoc(item, condition, contents)
    return SuiteDocument(
        name=draft.name,
        metric=tuple(draft.metric) if isinstance(draft.metric, list) else draft.metric,
        meta={},
        region_names=tuple(regions),
        conditions=tuple(conditions),
        sentences=tuple(sentences.values()),
        predictions=tuple(PredictionDoc(formula) for formula in formulas),
    )


def _outcomes(outcome_columns: dict[str, Any]) -> list[dict[str, Any]]:
    columns = zip(
        outcome_columns["outcomes"], outcome_columns["margins"], outcome_columns["too_close"], strict=True
    )
    return [
        {
            "prediction_number": number,
            "item": item,
            "outcome": OUTCOME_NAMES[code],
            "margin": margin,
            "too_close": bool(close),
        }
        for number, (codes, margins, closes) in enumerate(columns, start=1)
        for item, code, margin, close in zip(outcome_columns["items"], codes, margins, closes, strict=True)
        if code is not None
    ]
