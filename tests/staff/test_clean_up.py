"""Deleting old jobs and runs: what is deleted, what is kept, and the required confirmation."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.utils import timezone

from gym.collections.services import create_collection, publish_collection
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.runs.models import SuiteRun
from gym.runs.work.services import queue_run
from gym.staff import services
from suites.models import Suite
from tests.factories import make_model, make_revision
from tests.once import once_a_module
from tests.permissions.test_every_url import upload

PAGE = "/staff/clean-up/"
OLD = timedelta(days=400)


def age(rows) -> None:
    """Set the end of these rows to a time long ago."""
    then = timezone.now() - OLD
    rows.update(**{"finished" if rows.model is Job else "completed_at": then})


def make_runs(people) -> dict[str, SuiteRun]:
    """One run of each kind, all of them old except the new one."""
    open_model = make_model(people.alice, slug="open")
    secret = make_model(people.alice, slug="secret", visibility="private")
    public = make_revision(people.alice, name="public")
    private = make_revision(people.alice, name="private", visibility="private")
    unlisted = make_revision(people.alice, name="unlisted", visibility="unlisted")
    listed = make_revision(people.alice, name="listed")
    about = {"slug": "paper", "title": "paper", "description": "", "reference": ""}
    publish_collection(create_collection(actor=people.alice, revisions=[listed], **about), actor=people.alice)
    made = {
        "public": queue_run(public, open_model, actor=people.alice),
        "private suite": queue_run(private, open_model, actor=people.alice),
        "private model": queue_run(public, secret, actor=people.alice),
        "unlisted": queue_run(unlisted, open_model, actor=people.alice),
        "in a published collection": queue_run(listed, secret, actor=people.alice),
    }
    run_pending()
    age(SuiteRun.objects.all())
    made["new"] = queue_run(private, make_model(people.alice, slug="other"), actor=people.alice)
    run_pending()
    made["uploaded"] = upload(people.alice).runs.get()
    age(SuiteRun.objects.filter(pk=made["uploaded"].pk))
    Suite.objects.filter(slug="listed").update(visibility="private")
    return made


built, people, runs = once_a_module(make_runs)


def names_left(runs) -> set[str]:
    return {name for name, run in runs.items() if SuiteRun.objects.filter(pk=run.pk).exists()}


def clean(people, *what: str, days: int = 365) -> Job:
    services.queue_clean_up(days, what, actor=people.staff)
    return run_pending()[-1]


def test_old_runs_that_few_could_see_go_and_the_others_stay(people, runs):
    before = set(runs)
    job = clean(people, "runs")
    assert job.state == "done"
    assert before - names_left(runs) == {"private suite", "private model"}
    assert "Deleted 2 old runs" in Job.objects.get(pk=job.pk).log


def test_old_jobs_go_unless_they_say_why_something_has_no_result(people, runs):
    failed = queue_run(
        runs["public"].revision, make_model(people.alice, slug="third"), actor=people.alice
    ).job
    lone = Job.objects.create(kind="x", state="failed", error="no", finished=timezone.now())
    Job.objects.filter(pk=failed.pk).update(state="failed", error="no", finished=timezone.now())
    age(Job.objects.filter(state__in=["done", "failed"]))
    fresh = Job.objects.create(kind="x", state="done", finished=timezone.now())
    job = clean(people, "jobs")
    assert set(Job.objects.values_list("pk", flat=True)) == {failed.pk, fresh.pk, job.pk}
    assert not Job.objects.filter(pk=lone.pk).exists()
    runs["public"].refresh_from_db()
    assert runs["public"].state == "done"


def test_plans_of_runs_without_a_job_are_still_tidied_up(people, runs):
    from gym.runs.work.cache import spent_chunks

    found = spent_chunks().count()
    assert found
    age(Job.objects.all())
    clean(people, "jobs")
    assert spent_chunks().count() == found


def test_the_page_shows_what_would_go_and_deletes_nothing(client, people, runs):
    client.force_login(people.staff)
    page = client.get(PAGE)
    assert (page.context["runs"], page.context["jobs"]) == (2, 0)
    assert "open on private r1" in page.content.decode()
    assert client.get(PAGE, {"days": 500}).context["runs"] == 0
    assert len(names_left(runs)) == len(runs)


@pytest.mark.parametrize(
    "given",
    [
        {"days": 365, "what": ["runs"]},
        {"days": 365, "confirm": "on"},
        {"days": 5, "what": ["runs"], "confirm": "on"},
        {"days": "x", "what": ["runs"], "confirm": "on"},
        {"days": 365, "what": ["suites"], "confirm": "on"},
    ],
)
def test_without_a_clear_word_nothing_is_queued(client, people, given):
    client.force_login(people.staff)
    assert client.post(PAGE, given).status_code == 400
    assert not Job.objects.filter(kind="clean_up").exists()


def test_a_clear_word_queues_it_once(client, people, runs):
    client.force_login(people.staff)
    given = {"days": 365, "what": ["runs", "jobs"], "confirm": "on"}
    for _ in range(2):
        assert client.post(PAGE, given).url == "/staff/#storage"
    job = Job.objects.get(kind="clean_up")
    assert job.payload == {"days": 365, "what": ["jobs", "runs"]}
    run_pending()
    assert "private suite" not in names_left(runs)


def test_only_staff_cleans_up_and_nothing_young(people):
    with pytest.raises(PermissionDenied):
        services.queue_clean_up(365, ["jobs"], actor=people.alice)
    for days, what in ((29, ["jobs"]), (365, []), (365, ["jobs", "suites"])):
        with pytest.raises(ValidationError):
            services.queue_clean_up(days, what, actor=people.staff)
