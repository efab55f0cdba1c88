"""Staff decide which models are loaded on the worker's machine."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.staff.selectors import waiting_models
from models_registry import services
from models_registry.models import RegisteredModel
from tests.factories import make_model


@pytest.fixture
def waiting(people):
    """charlie's model from a folder, waiting for approval."""
    return services.register_model(
        actor=people.charlie,
        slug="mine",
        name="Mine",
        backend="ngram",
        config={"path": "not-there"},
        visibility="public",
    )


def test_staff_reviews_what_is_read_and_approving_queues_the_check(client, people, waiting):
    client.force_login(people.staff)
    page = client.get(waiting.get_absolute_url()).content.decode()
    assert "Approve and check" in page
    address = reverse("model-approve", args=["mine"])
    review = client.post(address).content.decode()
    assert "Size unknown." in review
    assert f'<form method="post" action="{address}"' in review
    waiting.refresh_from_db()
    assert waiting.status == "unapproved"
    client.post(address, {"reviewed": "yes"})
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

    from gym.runs.work.services import queue_run
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
    response = client.post(reverse("model-approve", args=["mine"]), {"reviewed": "yes"}, follow=True)
    assert "the limit is 1" in response.content.decode()
    waiting.refresh_from_db()
    assert waiting.status == "unapproved"


def refuse(client, reason: str):
    return client.post(reverse("model-refuse", args=["mine"]), {"reason": reason}, follow=True)


def test_staff_refuses_with_a_reason_that_the_owner_reads(client, people, waiting):
    client.force_login(people.staff)
    page = refuse(client, " No licence. ").content.decode()
    assert "Approve and check" in page  # it can still be approved
    waiting.refresh_from_db()
    assert (waiting.status, waiting.status_reason) == ("refused", "No licence.")
    client.force_login(people.charlie)
    page = client.get(waiting.get_absolute_url()).content.decode()
    assert "Staff refused this model." in page
    assert "No licence." in page
    assert "Check again" not in page
    assert client.post(reverse("model-check", args=["mine"])).status_code == 403
    assert Job.objects.count() == 0


def test_why_it_was_refused_is_not_for_everybody(client, people, waiting):
    services.refuse_model(waiting, "No licence.", actor=people.staff)
    client.force_login(people.alice)
    assert waiting.visibility == "public"
    assert "No licence." not in client.get(waiting.get_absolute_url()).content.decode()
    seen = client.get(reverse("api-model", args=["mine"])).json()
    assert (seen["status"], seen["status_reason"]) == ("refused", "")


def test_a_refused_model_no_longer_waits_and_may_be_approved_later(client, people, waiting):
    client.force_login(people.staff)
    assert waiting in waiting_models()
    refuse(client, "No licence.")
    assert waiting not in waiting_models()
    client.post(reverse("model-approve", args=["mine"]), {"reviewed": "yes"})
    waiting.refresh_from_db()
    assert (waiting.status, waiting.status_reason) == ("unchecked", "")


@pytest.mark.parametrize("reason", ["", "   ", "x" * 2_001])
def test_a_refusal_without_a_fit_reason_is_none(client, people, waiting, reason):
    client.force_login(people.staff)
    refuse(client, reason)
    waiting.refresh_from_db()
    assert waiting.status == "unapproved"


def test_only_a_waiting_model_is_refused_and_only_by_staff(people, waiting):
    with pytest.raises(PermissionDenied):
        services.refuse_model(waiting, "no", actor=people.charlie)
    ready = make_model(people.alice)
    with pytest.raises(ValidationError, match="is not waiting for approval"):
        services.refuse_model(ready, "no", actor=people.staff)
    ready.refresh_from_db()
    assert ready.status == "ready"


def test_the_owner_is_told_by_e_mail(
    people, waiting, mailoutbox, monkeypatch, django_capture_on_commit_callbacks
):
    monkeypatch.setattr(services, "in_background", lambda send, *arguments: send(*arguments))
    with django_capture_on_commit_callbacks(execute=True):
        services.refuse_model(waiting, "No licence.", actor=people.staff)
    [mail] = mailoutbox
    assert mail.to == ["charlie@example.org"]
    assert "No licence." in mail.body


AGAIN = {
    "name": "Mine again",
    "slug": "mine",
    "visibility": "public",
    "kind": "uniform",
    "vocabulary_size": 8,
}


def register_again(client, person):
    client.force_login(person)
    return client.post(reverse("model-register"), AGAIN)


def test_a_refused_model_gives_its_address_back_to_its_owner(client, people, waiting):
    services.refuse_model(waiting, "No licence.", actor=people.staff)
    client.force_login(people.charlie)
    assert (
        "or register it again under the same address"
        in client.get(waiting.get_absolute_url()).content.decode()
    )
    assert register_again(client, people.charlie).url == waiting.get_absolute_url()
    model = RegisteredModel.objects.get()
    assert (model.name, model.backend, model.status, model.status_reason) == (
        "Mine again",
        "uniform",
        "unchecked",
        "",
    )


def test_it_can_be_registered_again_through_the_api(client, people, waiting):
    services.refuse_model(waiting, "No licence.", actor=people.staff)
    client.force_login(people.charlie)
    given = {"slug": "mine", "name": "Mine again", "backend": "ngram", "config": {"path": "elsewhere"}}
    answer = client.post(reverse("api-models"), given, content_type="application/json")
    assert answer.status_code == 201, answer.content
    model = RegisteredModel.objects.get()
    assert (model.config, model.status) == ({"path": "elsewhere"}, "unapproved")
    assert list(waiting_models()) == [model]


def test_nobody_else_gets_the_address_of_a_refused_model(client, people, waiting):
    services.refuse_model(waiting, "No licence.", actor=people.staff)
    for person in (people.alice, people.staff):
        assert register_again(client, person).status_code == 400
        with pytest.raises(ValidationError):
            services.register_model(
                actor=person, slug="mine", name="Mine", backend="uniform", config={"vocabulary_size": 8}
            )
    assert RegisteredModel.objects.get() == waiting


def test_a_model_that_was_not_refused_keeps_its_address(client, people, waiting):
    assert register_again(client, people.charlie).status_code == 400
    assert RegisteredModel.objects.get() == waiting


def test_a_bad_second_try_leaves_the_refused_model(people, waiting):
    services.refuse_model(waiting, "No licence.", actor=people.staff)
    with pytest.raises(ValidationError):
        services.register_model(
            actor=people.charlie, slug="mine", name="", backend="uniform", config={"vocabulary_size": 8}
        )
    assert RegisteredModel.objects.get().status == "refused"
