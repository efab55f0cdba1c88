"""The runner when models, suites or permissions change while it works."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from gym.demo.loader import MODELS_DIR
from gym.jobs import fairness
from gym.jobs.testing import run_pending
from gym.runs.models import RunChunk, ScoreCache
from gym.runs.work import services
from lmgym.models.backends import uniform
from lmgym.models.engine import ScoringFailure
from models_registry.models import RegisteredModel
from tests.factories import make_model, make_revision


@pytest.fixture
def queued(people):
    return services.queue_run(make_revision(people.alice), make_model(people.alice), actor=people.alice)


def test_a_failure_that_may_pass_is_not_kept(people, queued, monkeypatch):
    score = uniform.UniformBackend.score

    def out_of_memory(self, texts, policy):
        return [ScoringFailure("memory ran out", transient=True) for _ in texts]

    monkeypatch.setattr(uniform.UniformBackend, "score", out_of_memory)
    run_pending()
    queued.refresh_from_db()
    assert (queued.n_unscored, ScoreCache.objects.count()) == (6, 0)
    monkeypatch.setattr(uniform.UniformBackend, "score", score)
    again = services.queue_run(queued.revision, queued.model, actor=people.alice)
    run_pending()
    again.refresh_from_db()
    assert again.n_unscored == 0


def test_a_failure_that_stays_is_kept(people, queued, monkeypatch):
    monkeypatch.setattr(
        uniform.UniformBackend,
        "score",
        lambda self, texts, policy: [ScoringFailure("too long") for _ in texts],
    )
    run_pending()
    assert ScoreCache.objects.count() == 6


def test_chunks_of_another_scorer_are_planned_again(queued):
    RunChunk.objects.create(run=queued, number=0, positions=[0], done=True)
    type(queued).objects.filter(pk=queued.pk).update(scorer="0" * 64)
    [job] = run_pending()
    queued.refresh_from_db()
    assert (job.state, queued.n_unscored, queued.n_cached) == ("done", 0, 0)
    assert [chunk.positions for chunk in queued.chunks.all()] != [[0]]


def test_what_was_cleared_from_the_cache_meanwhile_is_scored_again(queued, monkeypatch):
    from gym.runs.work import cache

    real, cleared = cache.read, []

    def forgetful(scorer, texts):
        if RunChunk.objects.filter(run=queued, done=True).exists() and not cleared:
            cleared.append(ScoreCache.objects.all().delete())
        return real(scorer, texts)

    monkeypatch.setattr(cache, "read", forgetful)
    [job] = run_pending()
    assert cleared
    assert job.state == "done"
    assert queued.sentence_scores.count() == 6


def test_a_model_that_broke_meanwhile_is_not_run(queued):
    RegisteredModel.objects.filter(pk=queued.model.pk).update(
        status="broken", status_reason="weights are gone"
    )
    [job] = run_pending()
    assert job.state == "failed"
    assert "weights are gone" in job.error


def test_a_run_waits_for_a_worker_with_the_files_and_the_queue_names_them(client, people, monkeypatch):
    monkeypatch.setattr(fairness, "_missing_until", {})
    run = services.queue_run(
        make_revision(people.alice), model_without_files(people.alice), actor=people.alice
    )
    [job] = run_pending()
    assert (job.state, job.tries, job.waits_for) == ("queued", 0, "the files of the model elsewhere")
    files = "for a worker with the files of the model elsewhere"
    assert f"1 job waits {files}." in text_of(client, reverse("queue"))
    assert f"Waiting {files};" in text_of(client, run.get_absolute_url())
    assert f"waiting {files}" in text_of(client, run.revision.suite.get_absolute_url())


@pytest.mark.parametrize(("device", "lacking"), [("cuda:7", "the device cuda:7"), ("cuda:all", "a GPU")])
def test_a_run_waits_for_a_worker_with_the_device_of_its_model(
    people, settings, monkeypatch, device, lacking
):
    monkeypatch.setattr(fairness, "_missing_until", {})
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    settings.GYM_MODEL_DIR = MODELS_DIR
    config = {"source": "directory", "path": "demo-gpt2", "device": device}
    model = make_model(people.alice, slug="on-gpu", backend="causal", config=config)
    services.queue_run(make_revision(people.alice), model, actor=people.alice)
    [job] = run_pending()
    assert (job.state, job.tries, job.waits_for) == ("queued", 0, lacking)


def test_the_queue_does_not_tell_strangers_about_the_files_of_a_private_model(client, people, monkeypatch):
    monkeypatch.setattr(fairness, "_missing_until", {})
    model = model_without_files(people.alice, visibility="private")
    services.queue_run(make_revision(people.alice), model, actor=people.alice)
    run_pending()
    for person, sees in ((None, False), (people.charlie, False), (people.alice, True), (people.staff, True)):
        if person is not None:
            client.force_login(person)
        assert ("elsewhere" in text_of(client, reverse("queue"))) is sees


def model_without_files(owner, **fields):
    """Create a ready model whose files are only on the worker that checked it."""
    return make_model(owner, slug="elsewhere", backend="ngram", config={"path": "not/here.ngram"}, **fields)


def text_of(client, url):
    return " ".join(re.sub("<[^>]*>", "", client.get(url).content.decode()).split())
