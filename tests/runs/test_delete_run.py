"""Deleting a run."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.jobs import runner, states
from gym.jobs.testing import run_pending
from gym.runs.models import DeletedRun, ScoreCache, SentenceScore, SuiteRun
from gym.runs.work import services
from tests.factories import make_model, make_revision
from tests.once import once_a_module


def make_run(people):
    run = services.queue_run(make_revision(people.alice), make_model(people.alice), actor=people.bob)
    run_pending()
    run.refresh_from_db()
    return run


built, people, run = once_a_module(make_run)


def test_the_run_goes_with_its_results_and_the_scores_stay(client, people, run):
    client.force_login(people.bob)
    assert "Delete this run" in client.get(run.get_absolute_url()).content.decode()
    response = client.post(reverse("run-delete", args=[run.key]))
    assert response.url == run.revision.get_absolute_url()
    assert (SuiteRun.objects.count(), SentenceScore.objects.count()) == (0, 0)
    assert ScoreCache.objects.exists()


def test_a_suites_owner_does_not_delete_results_of_others(client, people, run):
    client.force_login(people.alice)
    assert "Delete this run" not in client.get(run.get_absolute_url()).content.decode()
    for actor in (people.alice, people.charlie, people.nobody):
        with pytest.raises(PermissionDenied):
            services.delete_run(run, actor=actor)
    services.delete_run(run, actor=people.staff)


def test_a_run_at_work_is_cancelled_first(client, people, run):
    waiting = services.queue_run(run.revision, run.model, actor=people.bob)
    with pytest.raises(ValidationError, match="Cancel it first"):
        services.delete_run(waiting, actor=people.bob)
    client.force_login(people.bob)
    page = client.post(reverse("run-delete", args=[waiting.key]), follow=True).content.decode()
    assert "Cancel it first" in page


@pytest.mark.parametrize("state", ["queued", "running"])
def test_staff_can_delete_a_run_at_work_and_its_job_stops(client, people, run, state):
    """If the job did not stop, it would go on until it failed because of the missing rows."""
    waiting = services.queue_run(run.revision, run.model, actor=people.bob)
    job = states.claim_next("default", "w") if state == "running" else waiting.job
    client.force_login(people.staff)
    chosen = {"action": "delete_selected", "_selected_action": [waiting.pk], "post": "yes"}
    client.post(reverse("admin:runs_suiterun_changelist"), chosen)
    assert not SuiteRun.objects.filter(pk=waiting.pk).exists()
    if state == "running":
        assert runner.run(job, heartbeat=False) == "cancelled"
    job.refresh_from_db()
    assert job.state == "cancelled"


@pytest.mark.parametrize("how", ["page", "api", "admin"])
def test_the_address_of_a_deleted_public_run_says_what_it_was(client, people, run, how):
    client.force_login(people.staff)
    if how == "page":
        client.post(reverse("run-delete", args=[run.key]))
    elif how == "api":
        assert client.delete(reverse("api-run", args=[run.key])).status_code == 204
    else:
        chosen = {"action": "delete_selected", "_selected_action": [run.pk], "post": "yes"}
        client.post(reverse("admin:runs_suiterun_changelist"), chosen)
    assert not SuiteRun.objects.exists()
    client.logout()
    page = client.get(reverse("run-detail", args=[run.key]))
    assert page.status_code == 410
    text = page.content.decode()
    assert run.revision.sha256 in text
    assert run.revision.get_absolute_url() in text
    for word in ("Uniform", "agreement"):
        assert word in text
    assert "bob" not in text
    answer = client.get(reverse("api-run", args=[run.key]))
    assert answer.status_code == 410
    was = answer.json()["was"]
    assert was.pop("deleted_at")
    assert was.pop("note") == ""
    assert was == {
        "suite": run.revision.suite.slug,
        "revision": 1,
        "sha256": run.revision.sha256,
        "model": "uniform",
    }


@pytest.mark.parametrize("hidden", ["suite", "model"])
def test_nothing_is_kept_of_a_run_of_something_private(client, people, run, hidden):
    thing = run.revision.suite if hidden == "suite" else run.model
    type(thing).objects.filter(pk=thing.pk).update(visibility="private")
    services.delete_run(run, actor=people.staff)
    assert not DeletedRun.objects.exists()
    for name in ("run-detail", "api-run"):
        assert client.get(reverse(name, args=[run.key])).status_code == 404


@pytest.mark.parametrize("hidden", ["suite", "model"])
def test_what_became_private_since_is_not_named(client, people, run, hidden):
    thing = run.revision.suite if hidden == "suite" else run.model
    services.delete_run(run, actor=people.staff)
    type(thing).objects.filter(pk=thing.pk).update(visibility="private")
    for name in ("run-detail", "api-run"):
        assert client.get(reverse(name, args=[run.key])).status_code == 404
        client.force_login(people.alice)
        assert client.get(reverse(name, args=[run.key])).status_code == 410
        client.logout()


def test_a_run_that_never_had_results_leaves_nothing(people, run):
    SuiteRun.objects.filter(pk=run.pk).update(completed_at=None)
    services.delete_run(run, actor=people.staff)
    assert not DeletedRun.objects.exists()
