"""The playground: a quick job answers what follows, with and without JavaScript."""

from __future__ import annotations

import math
import shutil

import pytest
from django.conf import settings
from django.urls import reverse

from gym.demo.catalogue import MODELS_DIR
from gym.jobs.models import Job, State
from gym.jobs.testing import run_pending
from gym.lmchallenge import guessing
from gym.lmchallenge.models import Guess
from tests.factories import make_model

pytestmark = pytest.mark.django_db
PAGE = "/games/try/"


@pytest.fixture
def model(people):
    shutil.copytree(MODELS_DIR / "demo-ngram", settings.GYM_MODEL_DIR / "demo-ngram")
    return make_model(people.alice, slug="demo-ngram", backend="ngram", config={"path": "demo-ngram"})


@pytest.fixture
def answered(monkeypatch):
    """A worker that is there at once."""
    wait = guessing.wait_for

    def work(guess, seconds=0.0):
        run_pending("preview")
        return wait(guess, 0.0)

    monkeypatch.setattr(guessing, "wait_for", work)


def test_predictions_are_shown_and_can_be_taken(client, people, model, answered):
    client.force_login(people.bob)
    page = client.post(PAGE, {"model": "demo-ngram", "text": "The king that no bakers "}).content.decode()
    best = Guess.objects.get().predictions[0][1]
    assert f'<span class="quiet">{-math.log2(math.exp(best)):.2f} bits</span>' in page
    assert page.count('name="take"') == guessing.PREDICTIONS
    assert '<button class="btn btn-primary">Predict' in page
    taken = client.post(PAGE, {"model": "demo-ngram", "text": "The ", "take": "king"}).content.decode()
    assert "The king</textarea>" in taken
    part = client.post(
        PAGE, {"model": "demo-ngram", "text": "The "}, headers={"HX-Request": "true"}
    ).content.decode()
    assert part.lstrip().startswith('<div id="guesses"')
    assert "<html" not in part


def test_each_question_counts_as_a_sentence_of_the_day(client, people, model, answered, settings):
    settings.GYM_MAX_SENTENCES_PER_DAY = 1
    client.force_login(people.bob)
    assert client.post(PAGE, {"model": "demo-ngram", "text": "The "}).status_code == 200
    refused = client.post(PAGE, {"model": "demo-ngram", "text": "The king "})
    assert "You queued 1 sentence in the last 24 hours" in refused.content.decode()
    assert Guess.objects.count() == 1


def test_what_is_typed_on_replaces_what_was_asked(people, model):
    first = guessing.queue_guess("The", model, actor=people.bob)
    guessing.queue_guess("The k", model, actor=people.bob)
    assert Job.objects.get(pk=first.job_id).state == State.CANCELLED


def test_no_worker_means_a_word_of_patience_and_no_error(client, people, model, monkeypatch):
    monkeypatch.setattr(guessing, "WAIT_SECONDS", 0.0)
    wait = guessing.wait_for
    monkeypatch.setattr(guessing, "wait_for", lambda guess: wait(guess, 0.0))
    client.force_login(people.bob)
    answer = client.post(PAGE, {"model": "demo-ngram", "text": "The "})
    assert answer.status_code == 200
    assert "Ask again in a moment" in answer.content.decode()


def test_models_one_may_not_run_and_long_texts_are_refused(client, people, model):
    client.force_login(people.bob)
    assert client.post(PAGE, {"model": "nothing", "text": "x"}).status_code == 400
    assert client.post(PAGE, {"model": "demo-ngram", "text": "x" * 3_000}).status_code == 400
    assert not Guess.objects.exists()
    assert reverse("lmc-playground") == PAGE
