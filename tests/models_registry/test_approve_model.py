"""Staff decides what is loaded on the worker's machine."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied
from django.urls import reverse

from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from models_registry import services
from tests.factories import make_model


@pytest.fixture
def waiting(people):
    """charlie's folder model, which nobody has approved."""
    return services.register_model(
        actor=people.charlie, slug="mine", name="Mine", backend="ngram", config={"path": "not-there"}
    )


def test_approving_queues_the_check(client, people, waiting):
    client.force_login(people.staff)
    page = client.get(waiting.get_absolute_url()).content.decode()
    assert "Approve and check" in page
    client.post(reverse("model-approve", args=["mine"]))
    waiting.refresh_from_db()
    assert (waiting.status, waiting.check_job.state) == ("unchecked", "queued")
    run_pending()
    waiting.refresh_from_db()
    assert waiting.status == "broken"


def test_only_staff_approves(client, people, waiting):
    for person in (people.charlie, people.alice):
        client.force_login(person)
        assert "Approve and check" not in client.get(waiting.get_absolute_url()).content.decode()
        assert client.post(reverse("model-approve", args=["mine"])).status_code == 403
        with pytest.raises(PermissionDenied):
            services.approve_model(waiting, actor=person)
    waiting.refresh_from_db()
    assert (waiting.status, Job.objects.count()) == ("unapproved", 0)


def test_its_owner_cannot_have_it_checked_before_it_is_approved(client, people, waiting):
    client.force_login(people.charlie)
    assert "Check again" not in client.get(waiting.get_absolute_url()).content.decode()
    assert client.post(reverse("model-check", args=["mine"])).status_code == 403
    assert Job.objects.count() == 0


def test_an_approved_model_may_be_checked_again_by_its_owner(client, people, waiting):
    services.approve_model(waiting, actor=people.staff)
    run_pending()
    client.force_login(people.charlie)
    client.post(reverse("model-check", args=["mine"]))
    waiting.refresh_from_db()
    assert (waiting.status, waiting.status_reason, waiting.check_job.owner) == (
        "unchecked",
        "",
        people.charlie,
    )


def test_a_model_that_waits_cannot_be_run(client, people, waiting):
    from django.core.exceptions import ValidationError

    from gym.evaluations.services import queue_run
    from models_registry.selectors import runnable_by
    from tests.factories import make_revision

    revision = make_revision(people.alice)
    with pytest.raises(ValidationError, match="not ready"):
        queue_run(revision, waiting, actor=people.charlie)
    assert waiting not in runnable_by(people.charlie)


def test_too_many_jobs_is_said_on_the_page(client, people, waiting, settings):
    settings.GYM_MAX_ACTIVE_JOBS_PER_USER = 1
    services.check_model(make_model(people.staff, slug="other"), actor=people.staff)
    client.force_login(people.staff)
    response = client.post(reverse("model-approve", args=["mine"]), follow=True)
    assert "is the limit" in response.content.decode()
    waiting.refresh_from_db()
    assert waiting.status == "unapproved"
