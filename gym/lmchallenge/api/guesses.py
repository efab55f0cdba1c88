"""The playground in the REST API: what does a model say follows?"""

from __future__ import annotations

import math
from typing import Any

from rest_framework import serializers
from rest_framework.response import Response

from gym.accounts.models import Scope
from gym.accounts.requests import SignedInApiRequest
from gym.api.base import get_or_404, referred
from gym.api.operations import operation
from gym.api.requests import Body
from gym.jobs.api import WaitedForView
from gym.jobs.models import Job
from gym.lmchallenge import guessing
from gym.lmchallenge.models import Guess
from models_registry.selectors import visible_to as visible_models


class LmcGuessBody(Body):
    model = serializers.SlugField(max_length=80)
    text = serializers.CharField(
        max_length=guessing.MAX_CHARACTERS, allow_blank=True, trim_whitespace=False, default=""
    )


class LmcPredictionSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    score = serializers.FloatField(allow_null=True, help_text="natural logarithm of a probability")
    bits = serializers.FloatField(allow_null=True, help_text="the same as surprisal: -score / ln 2")


class LmcGuessSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    state = serializers.ChoiceField(Job.State.values)
    model = serializers.CharField()
    text = serializers.CharField()
    predictions = LmcPredictionSerializer(many=True, help_text="best first; empty until the state is done")


class GuessView(WaitedForView):
    nothing = "not-guessed"

    def shown(self, guess: Guess) -> Response:
        state = "done"
        if guess.predictions is None:
            state = "cancelled" if guess.job is None or guess.job.state == "done" else guess.job.state
        found = {
            "id": guess.pk,
            "state": state,
            "model": guess.model.slug,
            "text": guess.text,
            "predictions": [
                {"text": text, "score": score, "bits": None if score is None else -score / math.log(2)}
                for text, score in guess.predictions or []
            ],
        }
        return self.answer_or_wait(found, guess.job, "api-lmc-guess", guess.pk)


class GuessList(GuessView):
    token_scope = Scope.RUN

    @operation("Ask what follows", takes=LmcGuessBody, answers=LmcGuessSerializer, also=[202], waits=True)
    def post(self, request: SignedInApiRequest) -> Response:
        """The ten words a model holds most likely. Waits up to three seconds; what takes longer is answered 202, and
        `Location` has it later. Your earlier question that nobody answered yet is cancelled."""
        body = self.body()
        model = referred(visible_models(request.user), "model", slug=body["model"])
        guess = guessing.queue_guess(body["text"], model, actor=request.user)
        return self.shown(guessing.wait_for(guess))


class GuessDetail(GuessView):
    @operation("Read what follows", answers=LmcGuessSerializer, also=[202, 422])
    def get(self, request: SignedInApiRequest, pk: int) -> Response:
        """202 while it is waited for. For who asked, within an hour."""
        rows = Guess.objects.filter(owner=request.user).select_related("model", "job")
        return self.shown(get_or_404(rows, pk=pk))
