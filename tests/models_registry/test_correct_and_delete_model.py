"""A model registered by mistake, or with a mistake, can be corrected or deleted until results depend on
it."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.agents.services import register_server
from gym.jobs.testing import run_pending
from gym.runs.work.score_requests import queue_scores
from gym.runs.work.services import queue_run
from lmgym.models.engine import ScoringPolicy
from models_registry import services
from models_registry.models import RegisteredModel
from tests.factories import make_model, make_revision

MISTYPED = {"kind": "hub", "repo": "openai-community/gtp2"}
HUB = {"backend": "causal", "config": {"source": "hub", "repo": "openai-community/gtp2"}}
RIGHT = {"backend": "causal", "config": {"source": "hub", "repo": "openai-community/gpt2"}}


@pytest.fixture
def broken(people):
    """alice's model, approved by staff, whose repository the check did not find."""
    return make_model(
        people.alice, slug="gpt2", status="broken", status_reason="There is no such repository.", **HUB
    )


def correct(client, user, model, **given):
    given = {"reviewed": "yes", **given}
    client.force_login(user)
    return client.post(reverse("model-correct", args=[model.slug]), given)


def delete(client, user, model):
    client.force_login(user)
    return client.post(reverse("model-delete", args=[model.slug]))


def test_the_form_begins_with_what_is_registered(client, people, broken):
    client.force_login(people.alice)
    page = client.get(broken.get_absolute_url()).content.decode()
    assert "Correct or delete" in " ".join(page.split())
    page = client.get(reverse("model-correct", args=["gpt2"])).content.decode()
    assert 'value="openai-community/gtp2"' in page
    assert '<option value="hub" selected>' in page


def test_a_corrected_model_waits_for_staff_again_and_forgets_its_check(client, people, broken):
    RegisteredModel.objects.update(fingerprint="f" * 64, parameters=7, facts={"dtype": "float32"})
    response = correct(client, people.alice, broken, kind="hub", repo="openai-community/gpt2", revision="v1")
    assert response.url == broken.get_absolute_url()
    broken.refresh_from_db()
    assert broken.config == {"source": "hub", "repo": "openai-community/gpt2", "revision": "v1"}
    assert (broken.status, broken.status_reason, broken.check_job) == ("unapproved", "", None)
    assert (broken.fingerprint, broken.parameters, broken.facts, broken.checked_at) == ("", None, {}, None)


def test_what_needs_no_files_is_checked_at_once_also_as_another_kind(client, people, broken):
    correct(client, people.alice, broken, kind="uniform", vocabulary_size=512)
    run_pending()
    broken.refresh_from_db()
    assert (broken.backend, broken.status, broken.vocabulary_size) == ("uniform", "ready", 512)


def test_what_does_not_fit_changes_nothing(client, people, broken):
    response = correct(client, people.alice, broken, kind="hub", repo="gpt 2")
    assert response.status_code == 400
    assert "does not match" in response.content.decode()
    broken.refresh_from_db()
    assert (broken.config, broken.status) == (HUB["config"], "broken")


def test_a_check_that_was_queued_before_loads_nothing_unapproved_and_writes_nothing(people):
    model = make_model(people.alice, ready=False)
    services.check_model(model, actor=people.alice)
    services.correct_model(model, actor=people.alice, **RIGHT)
    [job] = run_pending()
    assert (job.state, job.error) == ("failed", "The model was deleted or corrected.")
    model.refresh_from_db()
    assert (model.status, model.facts) == ("unapproved", {})


def test_a_key_goes_to_no_other_server(people):
    server = {"base_url": "https://lab.example.org/v1", "model": "m"}
    model = make_model(people.alice, backend="openai", config=server, status="broken")
    services.change_secrets(model, {"api_key": "k-1"}, actor=people.alice)
    services.correct_model(model, actor=people.alice, backend="openai", config=server | {"model": "n"})
    assert list(model.secrets) == ["api_key"]
    elsewhere = server | {"base_url": "https://other.example.org/v1"}
    services.correct_model(model, actor=people.alice, backend="openai", config=elsewhere)
    assert model.secrets == {}


def test_a_model_with_results_is_neither_corrected_nor_deleted_and_says_why(client, people):
    model = make_model(people.alice)
    queue_run(make_revision(people.alice), model, actor=people.charlie)
    client.force_login(people.alice)
    page = client.get(reverse("model-correct", args=[model.slug])).content.decode()
    assert "is used in 1 suite run, so its source cannot be changed" in page
    assert "register a new model" in page
    response = correct(client, people.alice, model, kind="uniform", vocabulary_size=2)
    assert response.status_code == 400
    delete(client, people.alice, model)
    model.refresh_from_db()
    assert model.config["vocabulary_size"] == 1024
    with pytest.raises(services.InUse, match="Register a new model instead"):
        services.correct_model(model, actor=people.alice, backend="uniform", config={"vocabulary_size": 2})
    with pytest.raises(services.InUse, match=r"used in 1 suite run\. Delete these first"):
        services.delete_model(model, actor=people.alice)


def test_a_model_without_results_is_deleted_with_what_goes_with_it(client, people, broken):
    queue_scores(["The cat."], make_model(people.alice, slug="doomed"), ScoringPolicy(), actor=people.charlie)
    doomed = RegisteredModel.objects.get(slug="doomed")
    assert delete(client, people.alice, doomed).url == reverse("model-list")
    assert [model.slug for model in RegisteredModel.objects.all()] == ["gpt2"]


def test_a_correction_that_downloads_is_reviewed_first(client, people, broken):
    page = correct(client, people.alice, broken, kind="hub", repo="org/name", reviewed=[]).content.decode()
    assert "Size unknown." in page  # the tests are offline
    assert "You can save the model anyway." in page
    broken.refresh_from_db()
    assert broken.config.get("repo") != "org/name"


def test_only_the_owner_and_staff_correct_and_delete(client, people, broken):
    broken.collaborations.create(user=people.bob, role="edit")
    for person in (people.bob, people.charlie):
        assert correct(client, person, broken, **MISTYPED).status_code == 403
        assert delete(client, person, broken).status_code == 403
        with pytest.raises(PermissionDenied):
            services.correct_model(broken, actor=person, **RIGHT)
        with pytest.raises(PermissionDenied):
            services.delete_model(broken, actor=person)
    assert delete(client, people.staff, broken).status_code == 302


def test_a_card_for_uploaded_results_is_deleted_and_has_nothing_to_correct(client, people):
    card = services.register_uploaded_model(actor=people.alice, name="Elsewhere")
    client.force_login(people.alice)
    page = client.get(reverse("model-correct", args=[card.slug])).content.decode()
    assert "Delete Elsewhere" in page
    assert 'name="kind"' not in page
    with pytest.raises(ValidationError, match="nothing to check or correct"):
        services.correct_model(card, actor=people.alice, **RIGHT)
    delete(client, people.alice, card)
    assert not RegisteredModel.objects.exists()


def test_an_agent_is_deleted_on_its_own_page(client, people):
    agent = register_server(actor=people.alice, name="Echoes", slug="echoes", kind="embedded").model
    client.force_login(people.alice)
    assert client.get(reverse("model-correct", args=["echoes"])).url == agent.get_absolute_url()
    with pytest.raises(ValidationError, match="delete it on its own page"):
        services.delete_model(agent, actor=people.alice)


def test_a_new_model_is_private_unless_somebody_says_otherwise(client, people):
    given = {"vocabulary_size": 8, "unit": "word"}
    model = services.register_model(actor=people.alice, slug="a", name="A", backend="uniform", config=given)
    card = services.register_uploaded_model(actor=people.alice, name="B")
    agent = register_server(actor=people.alice, name="C", slug="c", kind="embedded").model
    assert {model.visibility, card.visibility, agent.visibility} == {"private"}
    client.force_login(people.alice)
    page = client.get(reverse("model-register")).content.decode()
    assert '<option value="private" selected>' in page
