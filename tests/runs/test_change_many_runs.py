"""Cancelling, retrying and deleting many runs at once: each under the actor's rights, the others untouched."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from django.db import OperationalError
from django.urls import reverse

from gym.conflicts import MESSAGE
from gym.jobs.errors import WrongState
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from gym.runs.work import many, services
from suites.models import Suite
from tests.factories import make_model, make_revision

pytestmark = pytest.mark.django_db


@pytest.fixture
def revision(people):
    return make_revision(people.alice)


@pytest.fixture
def start(people, revision):
    """`start(actor, n=1)` queues runs of separate models."""
    number = itertools.count()

    def start(actor, n=1):
        models = [make_model(people.alice, slug=f"model-{next(number)}") for _ in range(n)]
        return [services.queue_run(revision, model, actor=actor) for model in models]

    return start


def states(runs):
    return [run.state for run in SuiteRun.objects.filter(pk__in=[run.pk for run in runs]).order_by("pk")]


def test_ones_own_runs_are_cancelled_and_those_of_others_are_left(people, start):
    own, other = start(people.bob, 2), start(people.charlie)
    assert many.act_on_runs(SuiteRun.objects.all(), "cancel", actor=people.bob) == many.RunsChanged(2, {}, 0)
    assert (states(own), states(other)) == (["cancelled"] * 2, ["queued"])


def test_the_owner_of_the_suite_cancels_and_does_not_delete(people, start):
    runs = start(people.bob)
    assert many.act_on_runs(SuiteRun.objects.all(), "cancel", actor=people.alice).done == 1
    assert many.act_on_runs(SuiteRun.objects.all(), "delete", actor=people.alice).done == 0
    assert states(runs) == ["cancelled"]


def test_cancelled_runs_are_retried_and_finished_ones_are_not(people, start):
    (finished,) = start(people.bob)
    run_pending()
    (cancelled,) = start(people.bob)
    many.act_on_runs(SuiteRun.objects.all(), "cancel", actor=people.bob)
    assert many.act_on_runs(SuiteRun.objects.all(), "retry", actor=people.bob).done == 1
    assert states([finished, cancelled]) == ["done", "queued"]


def test_only_ended_runs_are_deleted(people, start):
    start(people.bob, 2)
    run_pending()
    waiting = start(people.bob)
    assert many.act_on_runs(SuiteRun.objects.all(), "delete", actor=people.bob).done == 2
    assert list(SuiteRun.objects.all()) == waiting


def test_refusals_are_counted_by_reason(people, start, settings):
    start(people.bob, 3)
    many.act_on_runs(SuiteRun.objects.all(), "cancel", actor=people.bob)
    settings.GYM_MAX_ACTIVE_JOBS_PER_USER = 1
    changed = many.act_on_runs(SuiteRun.objects.all(), "retry", actor=people.bob)
    assert changed.done == 1
    (reason,) = changed.refused
    assert "the limit is 1" in reason
    assert changed.refused[reason] == 2


def test_what_is_beyond_one_request_is_counted(people, start, monkeypatch):
    start(people.bob, 3)
    monkeypatch.setattr(many, "MAX_RUNS", 2)
    assert many.act_on_runs(SuiteRun.objects.all(), "cancel", actor=people.bob).left == 1


def test_refused_runs_do_not_block_later_ones(people, start, monkeypatch):
    runs = start(people.bob, 4)
    cancel = many.ACTIONS["cancel"]

    def refuse_the_first(run, *, actor):
        if run.pk in {run.pk for run in runs[:3]}:
            raise WrongState("no")
        cancel.use_case(run, actor=actor)

    monkeypatch.setattr(many, "MAX_RUNS", 1)
    monkeypatch.setattr(many, "PAGE", 2)
    monkeypatch.setitem(many.ACTIONS, "cancel", replace(cancel, use_case=refuse_the_first))
    changed = many.act_on_runs(SuiteRun.objects.all(), "cancel", actor=people.bob)
    assert changed == many.RunsChanged(1, {"no": 3}, 0)


def test_the_page_asks_first_and_keeps_the_filters(client, people, start):
    runs = start(people.bob, 2)
    client.force_login(people.bob)
    listed = client.get(reverse("run-list"), {"mine": "1", "state": "queued"}).content.decode()
    address = reverse("runs-change", args=["cancel"])
    assert f"{address}?mine=1&amp;state=queued" in listed
    page = client.get(address, {"mine": "1", "state": "queued"}).content.decode()
    assert "Cancel 2 runs?" in page
    assert states(runs) == ["queued"] * 2
    answer = client.post(address, {"mine": "1", "state": "queued", "total": "2"})
    assert answer.url == f"{reverse('run-list')}?state=queued&mine=1"
    assert states(runs) == ["cancelled"] * 2


def test_runs_that_ended_after_the_question_are_not_deleted(client, people, start):
    start(people.bob)
    run_pending()
    client.force_login(people.bob)
    address = reverse("runs-change", args=["delete"])
    assert 'name="total" value="1"' in client.get(address, {"q": "model"}).content.decode()
    start(people.bob)
    run_pending()
    answer = client.post(address, {"q": "model", "total": "1"})
    page = answer.content.decode()
    assert (answer.status_code, SuiteRun.objects.count()) == (409, 2)
    assert "Delete 2 runs?" in page
    assert f"{reverse('run-list')}?q=model" in page


def test_the_page_changes_only_runs_that_the_list_shows(client, people, revision, start):
    start(people.bob)
    run_pending()
    Suite.objects.update(visibility="unlisted")
    client.force_login(people.bob)
    client.post(reverse("runs-change", args=["delete"]), {"total": "5"})
    assert SuiteRun.objects.count() == 1


def test_a_run_that_is_locked_does_not_stop_the_others(people, start, monkeypatch):
    start(people.bob, 3)
    cancel, calls = many.ACTIONS["cancel"], []

    def cancel_unless_locked(run, *, actor):
        calls.append(run)
        if len(calls) == 2:
            locked = Exception("canceling statement due to lock timeout")
            locked.sqlstate = "55P03"
            raise OperationalError("lock timeout") from locked
        cancel.use_case(run, actor=actor)

    monkeypatch.setitem(many.ACTIONS, "cancel", replace(cancel, use_case=cancel_unless_locked))
    changed = many.act_on_runs(SuiteRun.objects.all(), "cancel", actor=people.bob)
    assert (changed.done, changed.refused) == (2, {MESSAGE: 1})


def test_staff_cancel_all_runs_of_an_account(client, people, start):
    own, other = start(people.bob), start(people.charlie)
    client.force_login(people.staff)
    client.post(reverse("runs-change", args=["cancel"]), {"owner": people.bob.username, "total": "1"})
    assert (states(own), states(other)) == (["cancelled"], ["queued"])


def test_the_api_changes_ones_own_runs_by_default(client, people, start):
    own, other = start(people.bob), start(people.charlie)
    client.force_login(people.bob)
    body = {"action": "cancel", "suite": own[0].revision.suite.slug}
    answer = client.post(reverse("api-run-many"), body, content_type="application/json")
    assert (answer.status_code, answer.json()) == (200, {"done": 1, "refused": {}, "left": 0})
    assert (states(own), states(other)) == (["cancelled"], ["queued"])
    assert Job.objects.filter(state="cancelled").count() == 1


def test_the_api_refuses_an_unknown_action(client, people):
    client.force_login(people.bob)
    answer = client.post(reverse("api-run-many"), {"action": "burn"}, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["where"] == "$.action"
