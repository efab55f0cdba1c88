"""A suite's page shows queued and running runs, and workers that went silent."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from gym.jobs import selectors, states
from gym.jobs.models import Job, WorkerHeartbeat
from gym.runs.models import SuiteRun
from gym.runs.work.services import queue_run
from suites import services
from tests.factories import make_model, make_revision, make_suite
from tests.runs.boards import finished_run

SILENT = "The worker is silent"
NOBODY = "No worker serves the queue"


@pytest.fixture
def queued(people):
    revision = make_revision(people.alice, name="watched", items=2)
    runs = [queue_run(revision, make_model(people.alice, slug=slug), actor=people.alice) for slug in "ab"]
    return revision, runs


def worker(queues=("default",), *, seconds_ago=0, name="w"):
    seen = timezone.now() - timedelta(seconds=seconds_ago)
    return WorkerHeartbeat.objects.create(id=name, host="h", pid=1, queues=list(queues), last_seen=seen)


def live_part(client, revision, known=""):
    return client.get(reverse("suite-under-way", args=[revision.suite.slug]), {"known": known})


def test_the_suite_page_asks_again_as_long_as_runs_are_under_way(client, people, queued):
    revision, runs = queued
    page = client.get(revision.get_absolute_url()).content.decode()
    known = ",".join(str(run.pk) for run in reversed(runs))
    assert f'hx-get="{reverse("suite-under-way", args=["watched"])}?known={known}"' in page
    assert 'hx-trigger="run-ended from:body" hx-select="#results-part"' in page
    assert "2 runs under way" in page
    part = live_part(client, revision, known)
    assert "run-ended" not in str(part.headers)
    assert part.content.decode().count("<progress") == 2


def test_progress_is_shown_and_the_end_of_one_run_is_told_while_others_go_on(client, people, queued):
    revision, (first, second) = queued
    worker()
    states.claim_next("default", "w")
    Job.objects.filter(pk=first.job_id).update(done=3, total=12, unit="sentences")
    page = live_part(client, revision, f"{first.pk},{second.pk}").content.decode()
    assert '<progress class="progress" max="100" value="25"' in page
    assert "3 of 12 sentences" in " ".join(page.split())
    SuiteRun.objects.filter(pk=first.pk).update(completed_at=timezone.now())
    part = live_part(client, revision, f"{first.pk},{second.pk}")
    assert "run-ended" in part["HX-Trigger-After-Settle"]
    assert f"known={second.pk}" in part.content.decode()
    part = live_part(client, revision, f"{second.pk}")
    assert "HX-Trigger-After-Settle" not in part.headers


def test_with_the_last_run_the_asking_ends(client, people, queued):
    revision, runs = queued
    SuiteRun.objects.update(completed_at=timezone.now())
    part = live_part(client, revision, ",".join(str(run.pk) for run in runs))
    assert "run-ended" in part["HX-Trigger-After-Settle"]
    assert "hx-get" not in part.content.decode()
    assert "All runs have ended" in part.content.decode()


@pytest.mark.parametrize("known", ["", "x", "1,,\0", "," * 3000, "9" * 500])
def test_whatever_a_page_says_that_it_knew_is_answered(client, people, queued, known):
    assert live_part(client, queued[0], known).status_code == 200


def test_runs_of_a_suite_that_one_may_not_see_are_not_told(client, people, queued):
    services.set_visibility(queued[0].suite, "private", actor=people.alice)
    client.force_login(people.charlie)
    assert live_part(client, queued[0]).status_code in (404, 410)


def test_runs_of_a_revision_just_frozen_are_under_way_on_its_page(client, people):
    suite = make_suite(people.alice, name="fresh", frozen=False)
    models = [make_model(people.alice, slug=slug) for slug in "ab"]
    client.force_login(people.alice)
    given = {"note": "", "models": [model.pk for model in models]}
    page = client.post(reverse("suite-freeze", args=[suite.slug]), given, follow=True).content.decode()
    assert "2 runs under way" in page
    assert 'hx-trigger="every 2s"' in page


def test_a_run_that_no_worker_will_take_up_says_so(client, people, queued):
    _, (run, _) = queued
    worker(["preview"])
    worker(seconds_ago=600, name="gone")
    for address in (run.get_absolute_url(), reverse("run-progress", args=[run.key])):
        assert NOBODY in client.get(address).content.decode()
    assert "no worker for its queue" in client.get(run.revision.get_absolute_url()).content.decode()
    worker(name="there")
    assert NOBODY not in client.get(run.get_absolute_url()).content.decode()


def test_a_run_whose_worker_is_silent_says_so(client, people, queued):
    _, (run, _) = queued
    there = worker()
    states.claim_next("default", "w")
    pages = [run.get_absolute_url(), reverse("run-progress", args=[run.key])]
    assert not any(SILENT in client.get(address).content.decode() for address in pages)
    there.last_seen = timezone.now() - selectors.ALIVE - timedelta(seconds=5)
    there.save()
    assert all(SILENT in client.get(address).content.decode() for address in pages)
    for address in (run.revision.get_absolute_url(), reverse("queue"), reverse("home")):
        assert "worker is silent" in client.get(address).content.decode()


def test_silence_is_found_with_one_query(people, queued, django_assert_num_queries):
    jobs = list(Job.objects.all())
    with django_assert_num_queries(1):
        selectors.note_silence(jobs)
    with django_assert_num_queries(0):
        selectors.note_silence([None, Job(state="done")])


# ---- the head, and the table of predictions ----


def test_run_is_the_one_primary_button_in_the_head(client, people):
    revision = make_revision(people.alice, name="headed")
    make_model(people.alice)
    for person in (people.alice, people.charlie):
        client.force_login(person)
        page = client.get(revision.get_absolute_url()).content.decode()
        head = page[page.index('<header class="page-header">') :].partition("</header>")[0]
        assert head.count("btn-primary") == 1
        assert f'href="{reverse("run-start", args=["headed", 1])}"' in head.partition("btn-primary")[2]


@pytest.mark.parametrize(("models", "predictions", "columns"), [(2, 5, 2), (5, 3, 3)])
def test_what_there_is_less_of_goes_into_the_columns(client, people, models, predictions, columns):
    formulas = tuple(f"(2;%mismatch%) > (2;%match%) + {k}" for k in range(predictions))
    revision = make_revision(people.alice, name="many", items=2, formulas=formulas)
    for k in range(models):
        finished_run(revision, make_model(people.alice, slug=f"m{k}"), *([[1, 0]] * predictions))
    page = client.get(revision.get_absolute_url()).content.decode()
    table = page[page.index('id="prediction-rates"') :].partition("</table>")[0]
    assert table.count('<th scope="col"') == 1 + columns
    assert table.count('scope="row"') == max(models, predictions)
    assert table.count("50.0%") == models * predictions
    first = " ".join(page[page.index('id="scores"') :].partition("</table>")[0].split())
    assert first.count(">run ") == models
