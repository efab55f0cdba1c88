import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.messages.storage.base import BaseStorage
from django.test import RequestFactory

from gym.jobs.admin import JobAdmin
from gym.jobs.models import Job
from gym.jobs.services import enqueue

pytestmark = pytest.mark.django_db


class Notes(BaseStorage):
    def _get(self, *args, **kwargs):
        return [], True

    def _store(self, messages, response, *args, **kwargs):
        return []


@pytest.fixture
def request_of_staff():
    request = RequestFactory().get("/")
    request.user = get_user_model().objects.create_superuser("root")
    request._messages = Notes(request)
    return request


def test_it_cancels_and_retries_what_can_be_and_says_what_cannot(request_of_staff, register):
    page = JobAdmin(Job, admin.site)
    job = enqueue(register("k"), {})
    page.cancel_jobs(request_of_staff, Job.objects.all())
    job.refresh_from_db()
    assert job.state == "cancelled"
    page.retry_jobs(request_of_staff, Job.objects.all())
    page.retry_jobs(request_of_staff, Job.objects.all())
    job.refresh_from_db()
    assert job.state == "queued"
    said = [note.message for note in request_of_staff._messages._queued_messages]
    assert said[:2] == ["1 job cancelled or asked to stop.", "1 job put back into the queue."]
    assert "only a failed or cancelled job" in said[2]


def test_nothing_can_be_added_or_changed_by_hand(request_of_staff):
    page = JobAdmin(Job, admin.site)
    assert not page.has_add_permission(request_of_staff)
    assert not page.has_change_permission(request_of_staff)


def test_progress_is_readable():
    page = JobAdmin(Job, admin.site)
    assert page.progress(Job(done=3, total=9, unit="sentences")) == "3 of 9 sentences"
    assert page.progress(Job()) == "–"
