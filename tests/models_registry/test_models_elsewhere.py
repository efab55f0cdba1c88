"""Models on other servers: registered in a form generated from their schema, checked and run; their keys are
never shown."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.work.services import queue_run
from gym.secrets import reveal
from lmgym.models.backends import load_backend
from models_registry import services, warm
from models_registry.forms import fields_of, sources
from models_registry.models import RegisteredModel
from models_registry.references import compare
from tests.factories import make_model, make_revision
from tests.lmgym.models.backends.completion_server import completion_server
from tests.lmgym.models.backends.test_lmzoo_backend import CONTAINER

REGISTER = "/models/register/"


@pytest.fixture(autouse=True)
def _cold():
    yield
    warm.forget()


def openai(url: str = "https://lab.example.org/v1", **more):
    given = {
        "kind": "openai",
        "base_url": url,
        "model": "tiny",
        "api_key": "sk-hush",
        "name": "Far",
        "slug": "far",
    }
    return {"visibility": "public", **given, **more}


def register(client, user, given):
    client.force_login(user)
    return client.post(REGISTER, given)


def test_a_server_waits_for_staff_and_its_key_is_encrypted(client, people):
    response = register(client, people.charlie, openai(batch="8"))
    model = RegisteredModel.objects.get()
    assert response.status_code == 302
    assert (model.status, model.backend) == ("unapproved", "openai")
    assert model.config == {"base_url": "https://lab.example.org/v1", "model": "tiny", "batch": 8}
    assert "hush" not in json.dumps(model.secrets)
    assert reveal(model.secrets, "api_key") == "sk-hush"


def test_a_key_is_on_no_page_and_in_no_api_answer(client, people):
    register(client, people.charlie, openai())
    model = RegisteredModel.objects.get()
    client.force_login(people.staff)
    pages = [
        model.get_absolute_url(),
        reverse("model-edit", args=["far"]),
        reverse("api-model", args=["far"]),
        reverse("api-models"),
        reverse("admin:models_registry_registeredmodel_change", args=[model.pk]),
    ]
    for page in pages:
        text = client.get(page).content.decode()
        assert "hush" not in text, page
        assert model.secrets["api_key"] not in text, page
    assert "hush" not in repr(model.__dict__)


def test_a_form_that_is_wrong_shows_the_key_to_nobody(client, people):
    response = register(client, people.charlie, openai(url="ftp://x"))
    assert response.status_code == 400
    assert "$.base_url" in response.content.decode()
    response = register(client, people.charlie, openai(api_key="sk-hush" * 400))
    assert response.status_code == 400
    assert "sk-hush" not in response.content.decode()


def test_a_key_can_be_replaced_and_forgotten_but_not_by_strangers(client, people):
    register(client, people.alice, openai())
    model = RegisteredModel.objects.get()
    edit = reverse("model-edit", args=["far"])
    card = {"name": "Far", "visibility": "public"}
    for given, expected in (
        ({}, "sk-hush"),
        ({"secret-api_key": "sk-new"}, "sk-new"),
        ({"forget-api_key": "on"}, ""),
    ):
        assert client.post(edit, card | given).status_code == 302
        model.refresh_from_db()
        assert reveal(model.secrets, "api_key") == expected
    with pytest.raises(PermissionDenied):
        services.change_secrets(model, {"api_key": "mine"}, actor=people.charlie)


def test_a_secret_within_the_configuration_is_taken_out_of_it(people):
    model = services.register_model(
        actor=people.alice,
        slug="far",
        name="Far",
        backend="openai",
        config={"base_url": "https://lab.example.org/v1", "model": "x", "api_key": "sk-hush"},
    )
    assert "api_key" not in model.config
    assert reveal(model.secrets, "api_key") == "sk-hush"


def test_a_server_is_checked_and_run(people, settings):
    settings.GYM_NET_ALLOW = ["127.0.0.1"]
    with completion_server(key="sk-hush", adds_bos=True) as there:
        model = services.register_model(
            actor=people.staff,
            slug="far",
            name="Far",
            backend="openai",
            config={"base_url": there.url, "model": "tiny", "api_key": "sk-hush"},
        )
        run_pending()
        model.refresh_from_db()
        assert (model.status, model.status_reason) == ("ready", "")
        run = queue_run(make_revision(people.staff), model, actor=people.staff)
        run_pending()
    run.refresh_from_db()
    assert (run.state, run.n_unscored) == ("done", 0)
    assert "hush" not in json.dumps(run.provenance)


def test_a_run_waits_for_a_server_that_is_away(people, settings):
    settings.GYM_NET_ALLOW = ["127.0.0.1"]
    with completion_server(adds_bos=True) as there:
        config = {"base_url": there.url, "model": "tiny"}
        model = make_model(people.alice, slug="far", backend="openai", config=config)
        warm.load_registered(model)
        run = queue_run(make_revision(people.alice), model, actor=people.alice)
    run_pending()
    run.job.refresh_from_db()
    assert (run.job.state, run.job.tries) == ("queued", 1)
    assert "No connection to" in run.job.error + run.job.log


def test_a_site_that_does_not_allow_the_address_says_so_in_the_check(people):
    with completion_server() as there:
        config = {"base_url": there.url, "model": "tiny"}
        model = make_model(people.staff, slug="far", ready=False, backend="openai", config=config)
        services.check_model(model, actor=people.staff)
        run_pending()
    model.refresh_from_db()
    assert model.status == "broken"
    assert "GYM_NET_ALLOW" in model.status_reason
    assert not there.seen


def test_containers_are_offered_only_when_the_administrator_lists_some(client, people, settings):
    given = {"kind": "lmzoo", "command": "toy", "name": "Toy", "slug": "toy", "visibility": "public"}
    client.force_login(people.staff)
    assert "LM Zoo" not in client.get(REGISTER).content.decode()
    assert register(client, people.staff, given).status_code == 400
    settings.GYM_LMZOO_COMMANDS = {"toy": [sys.executable, CONTAINER, "bos"]}
    assert register(client, people.staff, given | {"command": "other"}).status_code == 400
    assert register(client, people.charlie, given | {"slug": "waits"}).status_code == 302
    assert RegisteredModel.objects.get(slug="waits").status == "unapproved"
    assert register(client, people.staff, given).status_code == 302
    run_pending()
    model = RegisteredModel.objects.get(slug="toy")
    assert (model.status, model.status_reason, model.config) == ("ready", "", {"command": "toy"})


def test_every_property_of_every_schema_has_a_field_with_its_label_and_limits():
    found = list(sources())
    fields = fields_of(found, ["url", "name"], {"command": ["toy"], "reference": ["local"]})
    for source in found:
        asked = {field.name: field for field in fields.values() if source.key in field.for_sources}
        assert set(asked) == set(source.properties)
        for name, schema in source.properties.items():
            field = asked[name].field
            assert field.label == schema.get("title", field.label)
            if "enum" in schema:
                assert set(schema["enum"]) <= {value for value, _ in field.choices}
            if schema.get("writeOnly"):
                assert field.widget.input_type == "password"
                assert field.widget.render_value is False
            if "minimum" in schema:
                assert (field.min_value, field.max_value) == (schema["minimum"], schema["maximum"])


# ---- a reference with the same weights ----


def reference_model(owner, **more) -> RegisteredModel:
    config = {"source": "directory", "path": "files/Tiny.gguf"}
    return make_model(owner, **{"slug": "local", "backend": "causal", "config": config, **more})


@contextmanager
def served_reference(monkeypatch, **how):
    """The reference is computed by another server, which costs no weights."""
    with completion_server(**how) as there:
        config = {"base_url": there.url, "model": "tiny"}
        access = there.external_access()
        backend = load_backend("openai", config, model_dir="", hub_allowed=False, external_access=access)

        @contextmanager
        def loaded(model):
            assert model.slug == "local"
            yield backend

        monkeypatch.setattr("models_registry.references.loaded_model", loaded)
        yield


def checked(people, settings, *, served="tiny", **config) -> RegisteredModel:
    settings.GYM_NET_ALLOW = ["127.0.0.1"]
    with completion_server(model=served) as there:
        given = {"base_url": there.url, "model": served, **config}
        model = services.register_model(
            actor=people.staff, slug="far", name="Far", backend="openai", config=given
        )
        run_pending()
    model.refresh_from_db()
    assert (model.status, model.status_reason) == ("ready", "")
    return model


def named(people, **config) -> RegisteredModel:
    """A model on another server, not saved."""
    given = {"base_url": "https://lab.example.org/v1", "model": "tiny", **config}
    return RegisteredModel(owner=people.staff, slug="far", backend="openai", config=given)


def test_the_check_compares_a_server_with_its_reference(people, settings, monkeypatch):
    reference_model(people.staff)
    with served_reference(monkeypatch):
        model = checked(people, settings, reference="local")
    found = model.facts["probe"]["reference"]
    assert (found["model"], found["agree"], found["sentences"], found["mean_difference"]) == (
        "local",
        True,
        20,
        0,
    )
    assert "The values agree with the reference local" in model.facts["notes"][-1]


def test_a_reference_with_other_values_is_a_warning_on_the_page_and_in_the_api(
    client, people, settings, monkeypatch
):
    reference_model(people.staff)
    with served_reference(monkeypatch, sharpness=0.5):
        model = checked(people, settings, reference="local")
    client.force_login(people.staff)
    warning = "Warning: the values do not agree with the reference local"
    assert warning in client.get(model.get_absolute_url()).content.decode()
    facts = client.get(reverse("api-model", args=["far"])).json()["facts"]
    assert warning in " ".join(facts["notes"])
    assert facts["probe"]["reference"]["agree"] is False


def test_a_reference_that_cannot_be_loaded_is_a_note_and_no_refusal(people, settings):
    reference_model(people.staff)
    model = checked(people, settings, reference="local")
    assert "The values were not compared with the reference local: " in model.facts["notes"][-1]
    assert "reference" not in model.facts["probe"]


def test_a_reference_that_is_no_longer_ready_is_a_note(people):
    reference_model(people.staff, ready=False)
    assert "local: it is not ready" in compare(named(people, reference="local"), backend=None).note


@pytest.mark.parametrize("more", [{"ready": False}, {"backend": "uniform", "config": {"vocabulary_size": 2}}])
def test_only_a_ready_causal_model_can_be_a_reference(people, more):
    reference_model(people.staff, **more)
    with pytest.raises(ValidationError, match="no model local to compare with"):
        services.register_model(
            actor=people.staff,
            slug="far",
            name="Far",
            backend="openai",
            config={"base_url": "https://lab.example.org/v1", "model": "x", "reference": "local"},
        )


def test_models_that_the_owner_cannot_see_are_no_references(client, people):
    reference_model(people.alice, visibility="private")
    assert register(client, people.charlie, openai(reference="local")).status_code == 400
    assert register(client, people.alice, openai(reference="local")).status_code == 302
    assert RegisteredModel.objects.get(slug="far").config["reference"] == "local"


def test_a_model_of_the_same_name_is_offered_as_reference(people, settings):
    reference_model(people.staff)
    model = checked(people, settings, served="org/Tiny")
    assert "local may have the same weights" in model.facts["notes"][-1]
    for served, offered in (("local", True), ("other", False)):
        note = compare(named(people, model=served), backend=None).note
        assert ("local may have the same weights" in note) is offered
