"""Queueing and running a model on a suite."""

from __future__ import annotations

import re

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.runs.models import ScoreCache, SuiteRun
from gym.runs.work import services
from lmgym.models.engine import ScoringPolicy
from tests.factories import make_model, make_revision, make_suite


def test_a_run_ends_with_outcomes_tokens_and_a_record_of_how(people):
    revision, model = make_revision(people.alice), make_model(people.alice)
    run = services.queue_run(revision, model, actor=people.charlie)
    assert run.state == "queued"
    [job] = run_pending()
    run.refresh_from_db()
    assert (job.state, job.error, run.state) == ("done", "", "done")
    result = run.prediction_results.get()
    # Two words of subject, one verb, three tokens of rest, 10 bits each; the verbs tie.
    assert (result.n, result.ties, result.passed) == (3, 3, 0)
    score = run.sentence_scores.first()
    assert score.regions[:2] == [20.0, 10.0]
    assert score.surprisal == sum(token[4] for token in score.tokens)
    assert run.provenance["suite_sha256"] == revision.sha256
    assert run.provenance["model_fingerprint"]
    assert run.policy == ScoringPolicy().to_dict()


def test_run_and_job_appear_together(people, monkeypatch):
    revision, model = make_revision(people.alice), make_model(people.alice)

    def broken(*args, **kwargs):
        raise RuntimeError("no queue")

    monkeypatch.setattr("gym.jobs.services.enqueue", broken)
    with pytest.raises(RuntimeError):
        services.queue_run(revision, model, actor=people.alice)
    assert (SuiteRun.objects.count(), Job.objects.count()) == (0, 0)


def test_a_second_run_scores_nothing_again(people):
    revision, model = make_revision(people.alice), make_model(people.alice)
    for _ in range(2):
        services.queue_run(revision, model, actor=people.alice)
    run_pending()
    second, first = SuiteRun.objects.all()
    assert (first.n_cached, second.n_cached) == (0, 6)
    assert ScoreCache.objects.count() == 6


def test_another_policy_has_its_own_scores(people):
    revision, model = make_revision(people.alice), make_model(people.alice)
    services.queue_run(revision, model, actor=people.alice)
    run = services.queue_run(revision, model, ScoringPolicy(metric="max", eos=True), actor=people.alice)
    run_pending()
    run.refresh_from_db()
    assert run.n_cached == 0
    assert run.sentence_scores.first().regions[0] == 10.0


def test_a_draft_cannot_be_run(people):
    suite, model = make_suite(people.alice, frozen=False), make_model(people.alice)
    with pytest.raises(ValidationError, match="Freeze"):
        services.queue_run(suite.draft, model, actor=people.alice)


def test_a_model_that_is_not_ready_cannot_be_run(people):
    revision, model = make_revision(people.alice), make_model(people.alice, ready=False)
    with pytest.raises(ValidationError, match="not ready"):
        services.queue_run(revision, model, actor=people.alice)


def test_a_stranger_cannot_run_on_a_private_suite_and_nobody_can_run_at_all(people):
    model = make_model(people.alice)
    private = make_revision(people.alice, visibility="private")
    public = make_revision(people.alice)
    for actor, revision in ((people.charlie, private), (people.nobody, public)):
        with pytest.raises(PermissionDenied):
            services.queue_run(revision, model, actor=actor)


def test_a_model_whose_files_changed_is_refused(people):
    revision = make_revision(people.alice)
    model = make_model(people.alice, fingerprint="0" * 64)
    run = services.queue_run(revision, model, actor=people.alice)
    [job] = run_pending()
    assert job.state == "failed"
    assert "not those that were checked" in job.error
    run.refresh_from_db()
    assert run.state == "failed"


def test_the_form_queues_every_chosen_model(client, people):
    revision = make_revision(people.alice)
    models = [make_model(people.alice, slug=slug) for slug in ("one", "two")]
    client.force_login(people.charlie)
    client.post(
        reverse("run-start", args=[revision.suite.slug, revision.number]),
        {
            "models": [model.slug for model in models],
            "bos": "auto",
            "join": "natural",
            "metric": "sum",
        },
    )
    runs = SuiteRun.objects.all()
    assert {run.model.slug for run in runs} == {"one", "two"}
    assert {run.policy["join"] for run in runs} == {"natural"}


def test_without_a_ready_model_the_run_page_says_how_to_get_one(client, people):
    revision = make_revision(people.alice)
    make_model(people.alice, ready=False)
    client.force_login(people.charlie)
    page = client.get(reverse("run-start", args=[revision.suite.slug, 1])).content.decode()
    assert "No model is ready yet" in page
    assert f'href="{reverse("model-register")}"' in page


def test_a_mistake_in_the_form_loses_no_choice(client, people):
    revision = make_revision(people.alice)
    for slug in ("one", "two"):
        make_model(people.alice, slug=slug)
    client.force_login(people.charlie)
    given = {"models": ["two"], "bos": "auto", "bos_token": "<s>", "join": "natural", "metric": "max"}
    answer = client.post(reverse("run-start", args=[revision.suite.slug, 1]), given)
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "Choose “another token” to use it." in page
    assert [
        re.search(r'value="(\w+)"', tag)[1] for tag in re.findall(r"<input[^>]* checked[^>]*>", page)
    ] == ["two"]
    assert 'value="&lt;s&gt;"' in page
    assert {'value="natural" selected', 'value="max" selected'} <= set(
        re.findall(r'value="\w+" selected', page)
    )
    assert not SuiteRun.objects.exists()


def test_a_run_is_cancelled_and_retried(client, people):
    revision, model = make_revision(people.alice), make_model(people.alice)
    run = services.queue_run(revision, model, actor=people.bob)
    client.force_login(people.charlie)
    assert client.post(reverse("run-cancel", args=[run.key])).status_code == 403
    client.force_login(people.bob)
    client.post(reverse("run-cancel", args=[run.key]))
    run.refresh_from_db()
    assert run.state == "cancelled"
    assert run_pending() == []
    client.post(reverse("run-retry", args=[run.key]))
    run_pending()
    run.refresh_from_db()
    assert run.state == "done"


def test_cancelling_a_finished_run_says_that_it_is_finished(client, people):
    run = services.queue_run(make_revision(people.alice), make_model(people.alice), actor=people.bob)
    run_pending()
    client.force_login(people.bob)
    response = client.post(reverse("run-cancel", args=[run.key]), follow=True)
    assert "only a queued or running job" in response.content.decode()


def test_the_form_offers_the_same_run_and_does_not_queue_it_again(client, people):
    revision, model = make_revision(people.alice), make_model(people.alice)
    client.force_login(people.alice)
    start = reverse("run-start", args=[revision.suite.slug, revision.number])
    given = {
        "models": [model.slug],
        "bos": "auto",
        "join": "space",
        "metric": "sum",
    }
    first = client.post(start, given)
    again = client.post(start, given, follow=True)
    assert again.redirect_chain[0][0] == first.url
    assert "already exist and were not repeated" in again.content.decode()
    client.post(start, given | {"metric": "max"})
    assert SuiteRun.objects.count() == 2  # a run with other settings is another run
    client.post(start, given | {"again": "on"})
    assert SuiteRun.objects.count() == 3


def test_numbers_of_another_engine_are_neither_reused_nor_offered_as_the_same_run(people, monkeypatch):
    revision, model = make_revision(people.alice), make_model(people.alice)
    first = services.queue_run(revision, model, actor=people.alice)
    run_pending()
    first.refresh_from_db()
    model.fingerprint = first.provenance["model_fingerprint"]
    model.save()
    asked = (revision, model, ScoringPolicy())
    assert services.same_run(*asked, user=people.alice) == first
    monkeypatch.setattr("lmgym.runs.score_store.ENGINE_VERSION", "another")
    monkeypatch.setattr("gym.runs.work.services.ENGINE_VERSION", "another")
    assert services.same_run(*asked, user=people.alice) is None
    second = services.queue_run(revision, model, actor=people.alice)
    run_pending()
    second.refresh_from_db()
    assert second.n_cached == 0
