"""Bits and outcomes of a draft before it is frozen, in the REST API."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.models import Scope
from gym.api.base import ApiView, one
from gym.api.errors import Refusal, Trouble, answers, invalid
from gym.api.operations import operation
from gym.api.requests import Body
from gym.evaluations.compute import metric_of
from gym.evaluations.preview import PreviewFailed, Waiting, preview
from gym.evaluations.report import OUTCOME_NAMES
from models_registry.engine import ScoringPolicy
from models_registry.selectors import runnable_by
from suites.api.drafts import draft_of
from suites.api.views import editable
from suites.selectors import document_of

MAX_ROWS = 2_000
ROW = {"item": 1, "condition": "match", "bits": [9.1, 4.25, 3.0], "total": 16.35, "failure": ""}
OUTCOME = {"prediction": 0, "item": 1, "outcome": "held", "margin": 2.5, "too_close": False}
PREVIEW: dict[str, Any] = {"version": 18, "job": None, "rows": [ROW], "outcomes": [OUTCOME]}
WAITING = PREVIEW | {"job": "0b9f6a4e-5a0e-4d8b-9c3f-6f1f3f0c2a77", "rows": [], "outcomes": []}


@answers(PreviewFailed)
def _failed(error: PreviewFailed) -> Refusal:
    return Refusal(422, str(error), "not-scored")


class PreviewBody(Body):
    model = serializers.SlugField(max_length=80)
    items = serializers.ListField(
        child=serializers.IntegerField(min_value=-(2**31), max_value=2**31 - 1),
        min_length=1,
        max_length=MAX_ROWS,
        required=False,
        help_text=f"numbers; default: all, if the draft has at most {MAX_ROWS:,} sentences",
    )


class PreviewRowSerializer(serializers.Serializer):
    item = serializers.IntegerField()
    condition = serializers.CharField()
    bits = serializers.ListField(child=serializers.FloatField(allow_null=True), help_text="of each region")
    total = serializers.FloatField(allow_null=True)
    failure = serializers.CharField(help_text="why there are no scores, or empty")


class PreviewOutcomeSerializer(serializers.Serializer):
    prediction = serializers.IntegerField(help_text="position, from 0")
    item = serializers.IntegerField()
    outcome = serializers.ChoiceField(list(OUTCOME_NAMES))
    margin = serializers.FloatField(allow_null=True, help_text="bits")
    too_close = serializers.BooleanField(help_text="within numeric noise of a tie")


class PreviewSerializer(serializers.Serializer):
    version = serializers.IntegerField(help_text="of the draft that was scored")
    job = serializers.UUIDField(allow_null=True, help_text="what scores the missing sentences")
    rows = PreviewRowSerializer(many=True)
    outcomes = PreviewOutcomeSerializer(
        many=True, help_text="of the predictions that can be read, for each item"
    )


class Preview(ApiView):
    token_scope = Scope.RUN

    @operation(
        "Try a model on the draft",
        takes=PreviewBody,
        sends={"model": "demo-gpt2", "items": [1, 2]},
        answers=PreviewSerializer,
        example=PREVIEW,
        later=WAITING,
        waits=True,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Bits of each region, outcomes and margins of items of the draft. Nothing is kept as a result. 202 while
        sentences are being scored: send the same again after `Retry-After` seconds."""
        suite = editable(request, slug)
        given = self.given()
        draft = draft_of(suite)
        model = one(runnable_by(request.user), slug=given["model"])
        document = document_of(draft)
        items = given.get("items") or list(dict.fromkeys(row.item for row in document.sentences))
        wanted = set(items)
        kept = tuple(row for row in document.sentences if row.item in wanted)
        missing = sorted(wanted - {row.item for row in kept})
        if missing:
            raise invalid(Trouble("$.items", f"The draft has no item {missing[0]}."))
        if len(kept) > MAX_ROWS:
            raise invalid(
                Trouble(
                    "$.items", f"{len(kept):,} sentences; at most {MAX_ROWS:,} at a time. Name fewer items."
                )
            )
        policy = ScoringPolicy(join=draft.join_policy, metric=metric_of(document))
        found = preview(suite.pk, replace(document, sentences=kept), items, model, policy, actor=request.user)
        if isinstance(found, Waiting):
            place = reverse("api-job", args=[found.job], request=request)
            data = {"version": draft.edits, "job": found.job, "rows": [], "outcomes": []}
            return Response(data, status=202, headers={"Location": place, "Retry-After": "1"})
        return Response(
            {"version": draft.edits, "job": None, "rows": found["rows"], "outcomes": _outcomes(found)}
        )


def _outcomes(found: dict[str, Any]) -> list[dict[str, Any]]:
    columns = zip(found["outcomes"], found["margins"], found["too_close"], strict=True)
    return [
        {
            "prediction": position,
            "item": item,
            "outcome": OUTCOME_NAMES[code],
            "margin": margin,
            "too_close": bool(close),
        }
        for position, (codes, margins, closes) in enumerate(columns)
        for item, code, margin, close in zip(found["items"], codes, margins, closes, strict=True)
        if code is not None
    ]
