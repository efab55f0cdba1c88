"""The staff page: its contents, and what its buttons do."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Permission
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from gym.accounts import daily_sentences
from gym.accounts.models import User
from gym.jobs import states
from gym.jobs.models import Job, WorkerHeartbeat
from gym.jobs.services import enqueue
from gym.jobs.testing import run_pending
from gym.runs.work.score_requests import queue_scores
from gym.runs.work.services import queue_run
from gym.staff import selectors, services
from gym.staff.actors import DOCTOR
from lmgym.models.engine import ScoringPolicy
from tests.factories import make_model, make_revision

PAGE = "/staff/"
QUERIES = 10
"""Number of queries of the page, including those for session and user."""
TO_MEASURE = 8
"""Number of queries that measure storage, every five minutes."""


@pytest.fixture
def staff(client, people):
    client.force_login(people.staff)
    return client


def fail(error: str, **more) -> Job:
    now = timezone.now()
    return Job.objects.create(kind="suite_run", state="failed", error=error, finished=now, **more)


def test_an_empty_site_says_so(staff):
    text = staff.get(PAGE).content.decode()
    for words in ("No worker is running", "Nothing failed.", "Not run yet."):
        assert words in text


def test_it_shows_workers_with_their_job_and_their_last_error(staff, people):
    WorkerHeartbeat.objects.create(
        id="w", host="gpu1", pid=7, queues=["default"], device="cuda:0", last_error="CUDA is out of memory"
    )
    enqueue("tidy_storage", {}, owner=people.alice, title="Her job")
    states.claim_next("default", "w")
    text = staff.get(PAGE).content.decode()
    for words in ("gpu1", "cuda:0", "Her job", "CUDA is out of memory", "alive"):
        assert words in text


def test_a_worker_remembers_its_last_error(people, monkeypatch):
    from gym.jobs import runner

    WorkerHeartbeat.objects.create(id=runner.worker_id(), host="here", pid=1)
    enqueue("suite_run", {"run": 0}, owner=people.alice)
    run_pending()
    worker = WorkerHeartbeat.objects.get()
    assert "The run was deleted." in worker.last_error
    assert worker.last_error_at is not None


def test_jobs_are_counted_and_listed_in_the_admin(client, people):
    fail("no", owner=people.alice)
    client.force_login(User.objects.create_superuser("root"))
    assert 'href="/admin/jobs/job/?state__exact=failed"' in client.get(PAGE).content.decode()
    assert client.get("/admin/jobs/job/?state__exact=failed").context["cl"].result_count == 1


def test_failures_are_grouped_by_what_they_say(staff):
    for number in range(5):
        fail(f"The model 0x{number:x}ab needs {number} GB more.\nmore lines")
    fail("Something else")
    groups = selectors.recent_failures()
    assert [(group.count, group.message[:9]) for group in groups] == [(5, "The model"), (1, "Something")]
    assert "Something else" in staff.get(PAGE).content.decode()


def test_waiting_models_can_be_approved_from_there(staff, people):
    model = make_model(people.alice, slug="waits", status="unapproved")
    text = staff.get(PAGE).content.decode()
    assert model.name in text
    assert "/models/waits/approve/" in text


def test_the_doctor_looks_at_the_workers_machine(staff, people):
    for _ in range(2):
        assert staff.post("/staff/doctor/").status_code == 302
    assert Job.objects.filter(kind=DOCTOR).count() == 1  # one is under way already
    run_pending()
    lines = selectors.doctor_lines(selectors.last_job(DOCTOR))
    assert ("ok", "model directory" in str(lines)) == ("ok", True)
    assert {level for level, _ in lines} <= {"ok", "note", "BAD"}
    assert "requests may go to: public" in staff.get(PAGE).content.decode()


def test_users_are_listed_with_what_they_use_and_their_own_limits(staff, people):
    people.charlie.max_runs = 7
    people.charlie.save()
    queue_run(make_revision(people.alice), make_model(people.alice), actor=people.alice)
    uses = {use.user.username: use for use in selectors.busiest_users()}
    assert (uses["alice"].active, uses["alice"].runs) == (1, 1)
    assert uses["charlie"].limits[2] == 7
    assert "dora" not in uses
    assert uses["charlie"].has_custom_limits


def test_the_sentences_of_the_page_are_those_that_the_limit_counts(staff, people):
    model = make_model(people.alice)
    queue_run(make_revision(people.alice), model, actor=people.alice)
    queue_scores(["One.", "Two."], model, ScoringPolicy(), actor=people.alice)
    queue_scores(["Three."], model, ScoringPolicy(), actor=people.charlie)
    uses = {use.user: use.sentences for use in selectors.busiest_users()}
    assert uses == {people.alice: 8, people.charlie: 1}
    assert uses == {user: daily_sentences.used_by(user) for user in uses}


def test_only_staff_may(people):
    with pytest.raises(PermissionDenied):
        services.queue_task(DOCTOR, actor=people.alice)


def test_the_page_needs_as_many_queries_for_many_rows_as_for_few(
    staff, people, django_assert_max_num_queries, django_assert_num_queries
):
    for number in range(60):
        fail(f"reason {number}", owner=people.alice, title=f"job {number}")
        make_model(people.alice, slug=f"m{number}", status="unapproved")
        WorkerHeartbeat.objects.create(id=f"w{number}", host="h", pid=number)
    cache.clear()
    with django_assert_max_num_queries(QUERIES + TO_MEASURE):
        staff.get(PAGE)
    with django_assert_num_queries(QUERIES):
        staff.get(PAGE)


@pytest.mark.parametrize("right", [None, "jobs.view_job", "accounts.view_user"])
def test_links_lead_only_where_one_may_go(client, people, right):
    fail("no", owner=people.alice, title="hers")
    queue_run(make_revision(people.alice), make_model(people.alice), actor=people.alice)
    clerk = User.objects.create_user("clerk", is_staff=True)
    if right:
        app, _, code = right.partition(".")
        clerk.user_permissions.add(Permission.objects.get(codename=code, content_type__app_label=app))
    client.force_login(clerk)
    found = {
        link
        for link in re.findall(r'href="(/admin/[^"]*)"', client.get(PAGE).content.decode())
        if link != "/admin/"
    }
    assert bool(found) == bool(right)
    for link in found:
        assert client.get(link).status_code == 200
