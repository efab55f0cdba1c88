"""Changes by staff are in the admin's log, wherever they are made."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from gym.jobs.models import Job, State
from gym.jobs.services import enqueue
from models_registry.models import RegisteredModel
from tests.factories import make_model, make_suite


def entries() -> list[tuple[str, str, str]]:
    return [(one.user.username, one.object_repr, one.change_message) for one in LogEntry.objects.all()]


def test_a_job_cancelled_in_the_admin(client, people):
    job = enqueue("doctor", {}, owner=people.alice)
    client.force_login(people.staff)
    address = reverse("admin:jobs_job_changelist")
    client.post(address, {"action": "cancel_jobs", "_selected_action": [str(job.pk)]})
    assert Job.objects.get(pk=job.pk).state == State.CANCELLED
    assert entries() == [("staff", address, f"POST admin:jobs_job_changelist: cancel_jobs {job.pk}")]


@pytest.mark.parametrize("name", ["staff-tidy", "staff-doctor"])
def test_the_staff_pages_own_jobs(client, people, name):
    client.force_login(people.staff)
    client.post(reverse(name))
    assert [entry[:2] for entry in entries()] == [("staff", reverse(name))]


def test_an_approval_by_the_api(client, people):
    model = make_model(people.alice, slug="waits", status="unapproved")
    client.force_login(people.staff)
    address = reverse("api-model-approve", args=[model.slug])
    assert client.post(address).status_code < 300
    assert RegisteredModel.objects.get(pk=model.pk).status != "unapproved"
    assert entries() == [("staff", address, "POST api-model-approve")]


def test_a_change_of_somebodys_private_suite_once_in_ten_minutes(client, people):
    suite = make_suite(people.alice, visibility="private")
    client.force_login(people.staff)
    address = reverse("api-suite", args=[suite.slug])
    for title in ("One", "Two"):
        answer = client.patch(address, {"title": title}, content_type="application/json")
        assert answer.status_code == 200
    assert entries() == [("staff", address, "PATCH api-suite")]


def test_what_is_refused_looked_at_or_done_by_others_is_not_logged(client, people):
    suite = make_suite(people.alice)
    address = reverse("api-suite", args=[suite.slug])
    client.force_login(people.alice)
    client.patch(address, {"title": "Mine"}, content_type="application/json")
    client.force_login(people.staff)
    client.get(address)
    client.patch(address, {"titel": "Wrong"}, content_type="application/json")
    assert entries() == []


def test_the_log_is_read_in_the_admin(client, people):
    client.force_login(people.staff)
    client.post(reverse("staff-tidy"))
    page = client.get(reverse("admin:admin_logentry_changelist")).content.decode()
    assert "POST staff-tidy" in page
