"""Limits per account."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from gym.accounts import daily_sentences
from gym.accounts.errors import LimitReached
from gym.accounts.models import SentenceCharge
from gym.accounts.quotas import OverQuota
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.runs.models import ScoreRequest, SuiteRun
from gym.runs.work import services
from gym.runs.work.score_requests import queue_scores
from gym.runs.work.uploads import ModelChoice, ResultFile, plan_upload, save_upload
from lmgym.models.engine import ScoringPolicy
from tests.factories import make_model, make_revision

SENTENCES = 6  # of the suite that factories make


@pytest.fixture
def queue(people):
    revision, model = make_revision(people.alice), make_model(people.alice)
    return lambda actor: services.queue_run(revision, model, actor=actor)


def test_sentences_of_a_day_are_counted_and_refused_as_a_whole(people, queue, settings):
    settings.GYM_MAX_SENTENCES_PER_DAY = 2 * SENTENCES + 1
    for _ in range(2):
        queue(people.charlie)
    with pytest.raises(
        daily_sentences.TooManySentences, match="12 sentences in the last 24 hours"
    ) as refused:
        queue(people.charlie)
    assert 86_000 < refused.value.wait <= 86_401
    assert (SuiteRun.objects.count(), Job.objects.count()) == (2, 2)
    queue(people.bob)  # others have their own


def test_the_day_moves_on(people, queue, settings):
    settings.GYM_MAX_SENTENCES_PER_DAY = SENTENCES
    queue(people.charlie)
    SentenceCharge.objects.update(created=timezone.now() - timedelta(hours=23))
    with pytest.raises(daily_sentences.TooManySentences) as refused:
        queue(people.charlie)
    assert 3590 < refused.value.wait <= 3601
    SentenceCharge.objects.update(created=timezone.now() - timedelta(hours=25))
    queue(people.charlie)
    assert SentenceCharge.objects.count() == 1  # what is older than a day is thrown away


def test_the_wait_lasts_until_all_that_is_too_much_is_a_day_old(people, queue, settings):
    settings.GYM_MAX_SENTENCES_PER_DAY = SENTENCES + 1
    daily_sentences.charge(people.charlie, 1)
    SentenceCharge.objects.update(created=timezone.now() - timedelta(hours=20))
    queue(people.charlie)
    with pytest.raises(daily_sentences.TooManySentences) as refused:
        queue(people.charlie)
    assert 86_000 < refused.value.wait <= 86_401


def test_deleting_a_run_gives_its_sentences_not_back(people, queue, settings):
    settings.GYM_MAX_SENTENCES_PER_DAY = SENTENCES
    run = queue(people.charlie)
    run_pending()
    run.refresh_from_db()
    services.delete_run(run, actor=people.charlie)
    with pytest.raises(daily_sentences.TooManySentences, match="6 sentences in the last 24 hours"):
        queue(people.charlie)


def test_a_run_that_is_refused_costs_nothing(people, queue, settings):
    settings.GYM_MAX_ACTIVE_JOBS_PER_USER = 1
    queue(people.charlie)
    with pytest.raises(LimitReached):
        queue(people.charlie)
    assert daily_sentences.used_by(people.charlie) == SENTENCES


def test_scored_sentences_count_beside_runs_and_outlive_their_request(people, queue, settings):
    settings.GYM_MAX_SENTENCES_PER_DAY = SENTENCES + 1
    model = make_model(people.alice, slug="open-model")
    queue_scores(["One."], model, ScoringPolicy(), actor=people.charlie)
    ScoreRequest.objects.all().delete()
    queue(people.charlie)
    with pytest.raises(daily_sentences.TooManySentences, match="7 sentences"):
        queue_scores(["One."], model, ScoringPolicy(), actor=people.charlie)


def test_a_suite_that_is_larger_than_a_day_says_so(people, queue, settings):
    settings.GYM_MAX_SENTENCES_PER_DAY = SENTENCES - 1
    with pytest.raises(daily_sentences.TooManySentences, match="is 5 a day") as refused:
        queue(people.charlie)
    assert refused.value.wait is None


def test_runs_that_are_kept_are_counted_and_deleting_one_makes_room(people, queue, settings):
    settings.GYM_MAX_RUNS_PER_USER = 1
    run = queue(people.charlie)
    with pytest.raises(OverQuota, match="the limit is 1"):
        queue(people.charlie)
    run_pending()
    run.refresh_from_db()
    services.delete_run(run, actor=people.charlie)
    queue(people.charlie)


def test_staff_is_exempt_and_zero_means_no_limit(people, queue, settings):
    settings.GYM_MAX_RUNS_PER_USER = settings.GYM_MAX_SENTENCES_PER_DAY = 1
    for _ in range(3):
        queue(people.staff)
    settings.GYM_MAX_RUNS_PER_USER = settings.GYM_MAX_SENTENCES_PER_DAY = 0
    queue(people.charlie)


def test_the_api_answers_429_with_a_time_or_400(client, people, queue, settings):
    run = queue(people.charlie)
    client.force_login(people.charlie)
    asked = {"suite": run.revision.suite.slug, "model": run.model.slug, "again": True}

    def post():
        return client.post("/api/v1/runs/", asked, content_type="application/json")

    settings.GYM_MAX_SENTENCES_PER_DAY = SENTENCES
    refused = post()
    assert refused.status_code == 429
    assert 86_000 < int(refused["Retry-After"]) <= 86_401
    assert "sentences" in refused.json()["detail"]
    settings.GYM_MAX_SENTENCES_PER_DAY = 1
    assert "Retry-After" not in post()
    settings.GYM_MAX_RUNS_PER_USER = 1
    refused = post()
    assert refused.status_code == 400
    assert "You have 1 run" in str(refused.json())


def test_the_page_says_it_in_words(client, people, queue, settings):
    run = queue(people.charlie)
    settings.GYM_MAX_SENTENCES_PER_DAY = SENTENCES
    client.force_login(people.charlie)
    given = {"models": [run.model.slug], "bos": "auto", "join": "space", "metric": "sum", "again": "on"}
    page = client.post(reverse("run-start", args=[run.revision.suite.slug, 1]), given).content.decode()
    assert "You queued 6 sentences in the last 24 hours" in page


def test_an_accounts_own_limits_win_over_the_sites(people, settings):
    revision, model = make_revision(people.alice), make_model(people.alice)
    settings.GYM_MAX_RUNS_PER_USER = settings.GYM_MAX_SENTENCES_PER_DAY = (
        settings.GYM_MAX_ACTIVE_JOBS_PER_USER
    ) = 1
    people.alice.max_runs = people.alice.max_sentences_per_day = people.alice.max_active_jobs = 0
    for _ in range(2):
        services.queue_run(revision, model, actor=people.alice)
    for field, error in (
        ("max_runs", OverQuota),
        ("max_sentences_per_day", daily_sentences.TooManySentences),
        ("max_active_jobs", LimitReached),
    ):
        setattr(people.alice, field, 1)
        with pytest.raises(error):
            services.queue_run(revision, model, actor=people.alice)
        setattr(people.alice, field, 0)


def test_uploaded_runs_count_against_the_runs_one_may_keep(client, people, settings):
    make_revision(people.alice, name="public", visibility="public")
    rows = "".join(f"elsewhere,public,{item},True\n" for item in range(3))
    plan = plan_upload(ResultFile("o.csv", f"model,suite,item,correct\n{rows}".encode()), actor=people.alice)
    settings.GYM_MAX_RUNS_PER_USER = 1
    save_upload(plan, ModelChoice(visibility="public"), actor=people.alice)
    with pytest.raises(OverQuota, match="the limit is 1"):
        save_upload(plan, ModelChoice(visibility="public"), actor=people.alice)
    assert SuiteRun.objects.count() == 1
    client.force_login(people.alice)
    file = SimpleUploadedFile("o.csv", f"model,suite,item,correct\n{rows}".encode())
    response = client.post(
        reverse("results-upload"), {"file": file, "kind": "auto", "unit": "bits", "visibility": "public"}
    )
    assert response.status_code == 400
    assert "Delete what you no longer need" in response.content.decode()
