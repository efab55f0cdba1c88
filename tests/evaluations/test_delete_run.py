"""Throwing a run away."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.evaluations import services
from gym.evaluations.models import ScoreCache, SentenceScore, SuiteRun
from gym.jobs.testing import run_pending
from tests.factories import make_model, make_revision


@pytest.fixture
def run(people):
    run = services.queue_run(make_revision(people.alice), make_model(people.alice), actor=people.bob)
    run_pending()
    run.refresh_from_db()
    return run


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
