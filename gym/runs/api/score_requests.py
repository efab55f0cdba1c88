"""Surprisals of sentences that belong to no suite."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.urls import path
from rest_framework import serializers
from rest_framework.response import Response

from gym.accounts.models import Scope
from gym.accounts.requests import SignedInApiRequest
from gym.api.base import get_or_404, referenced
from gym.api.errors import FieldError, invalid
from gym.api.operations import operation
from gym.api.records import RecordSerializer
from gym.api.requests import Body
from gym.jobs.api import PolledView
from gym.jobs.models import Job
from gym.runs.api.policy_fields import StartTokenField
from gym.runs.models import ScoreRequest
from gym.runs.work import score_requests
from gym.runs.work.score_requests import visible_to
from lmgym.models.engine import ScoringPolicy
from lmgym.models.engine.policy import WHITESPACE_POLICIES
from lmgym.runs import tables
from models_registry.selectors import visible_to as visible_models


class ScoreRequestPolicy(Body):
    bos = StartTokenField(required=False)
    eos = serializers.BooleanField(required=False)
    whitespace = serializers.ChoiceField(WHITESPACE_POLICIES, required=False)


class ScoreBody(Body):
    model = serializers.SlugField(max_length=80)
    sentences = serializers.ListField(
        child=serializers.CharField(max_length=score_requests.MAX_TEXT_CHARACTERS, trim_whitespace=False),
        min_length=1,
        max_length=score_requests.MAX_TEXTS,
        help_text=f"at most {score_requests.MAX_CHARACTERS} characters in total",
    )
    policy = ScoreRequestPolicy(required=False)


class TokenScoreSerializer(RecordSerializer):
    class Meta:
        dataclass = tables.Token
        ref_name = "TokenScore"
        fields = ["token", "token_id", "start", "end", "surprisal", "special"]


class SentenceScoreSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    surprisal = serializers.FloatField(allow_null=True, help_text="bits, summed over the tokens with a value")
    failure = serializers.CharField(help_text="why there are no scores, or empty")
    tokens = TokenScoreSerializer(many=True)


class ScoreSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    state = serializers.ChoiceField(Job.State.choices)
    job = serializers.UUIDField(allow_null=True)
    model = serializers.CharField()
    policy = serializers.DictField()
    sentences = SentenceScoreSerializer(many=True, help_text="empty until the state is done")


def _sentence(text: str, scores: dict[str, Any]) -> dict[str, Any]:
    if scores["failure"]:
        return {"text": text, "surprisal": None, "failure": scores["failure"], "tokens": []}
    columns = zip(
        scores["tokens"], scores["ids"], scores["offsets"], scores["bits"], scores["special"], strict=True
    )
    tokens = [
        {
            "token": token,
            "token_id": number,
            "start": start,
            "end": end,
            "surprisal": bits,
            "special": special,
        }
        for token, number, (start, end), bits, special in columns
    ]
    values = [token["surprisal"] for token in tokens if token["surprisal"] is not None]
    return {"text": text, "surprisal": sum(values) if values else None, "failure": "", "tokens": tokens}


class ScoreView(PolledView):
    failure_code = "not-scored"

    def respond_with(self, row: ScoreRequest) -> Response:
        result = {
            "id": row.key,
            "state": row.state,
            "job": row.job_id,
            "model": row.model.slug,
            "policy": {name: row.policy[name] for name in ("bos", "eos", "whitespace") if name in row.policy},
            "sentences": [_sentence(text, scores) for text, scores in zip(row.texts, row.scores, strict=True)]
            if row.is_done
            else [],
        }
        return self.respond_or_wait(result, row.job, "api-score", row.key)


class ScoreList(ScoreView):
    token_scope = Scope.RUN

    @operation("Score sentences", body=ScoreBody, response=ScoreSerializer, also=[202], waits=True)
    def post(self, request: SignedInApiRequest) -> Response:
        """Return the surprisals of the sentences' tokens, in bits. Waits up to three seconds, then responds 202; poll
        `Location`. Scores are kept for a day and count towards the daily limit."""
        body = self.body()
        model = referenced(visible_models(request.user), "model", slug=body["model"])
        policy = ScoringPolicy.from_dict(body.get("policy", {}))
        try:
            row = score_requests.queue_scores(body["sentences"], model, policy, actor=request.user)
        except ValidationError as error:
            where = "$.model" if not model.is_ready or not model.is_hosted else "$.sentences"
            raise invalid(*(FieldError(where, message) for message in error.messages)) from error
        return self.respond_with(score_requests.wait_for(row))


class Score(ScoreView):
    @operation("Read scores", response=ScoreSerializer, also=[202, 422])
    def get(self, request: SignedInApiRequest, key: str) -> Response:
        """Return 202 until the scores are ready. Only staff and the account that sent the sentences can read
        them."""
        return self.respond_with(get_or_404(visible_to(request.user), key=key))


urlpatterns = [
    path("score/", ScoreList.as_view(), name="api-scores"),
    path("score/<slug:key>/", Score.as_view(), name="api-score"),
]
