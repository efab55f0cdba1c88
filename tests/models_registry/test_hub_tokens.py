"""Hub tokens on the site: a member's token for that member's models, the site's token for models that staff
approved."""

from __future__ import annotations

import io
import json
import logging

import pytest
from django.core.management import call_command
from django.urls import reverse

from gym.accounts import hub_token
from gym.accounts.redaction import NoTokens
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from models_registry import services, warm
from models_registry.models import RegisteredModel
from tests.factories import make_model
from tests.lmgym.models import tiny
from tests.lmgym.models.hub_server import hub_server, use_hub

ALICES, SITES = "hf_" + "alices" * 5, "hf_" + "sites" * 6
PRIVATE, GATED = "alice/private", "org/gated"


@pytest.fixture(autouse=True)
def _cold():
    yield
    warm.forget()


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory):
    pytest.importorskip("torch")
    tokenizer = tiny.train("byte-bpe")
    return tiny.save(
        tmp_path_factory.mktemp("tiny") / "gpt2", tiny.gpt2(tokenizer.get_vocab_size()), tiny.fast(tokenizer)
    )


@pytest.fixture
def server(monkeypatch, tmp_path, settings, tiny_folder):
    """A Hub with alice's private model and a gated model. alice's token can read the first, the site's token
    the second."""
    settings.GYM_HUB_TOKEN = SITES
    with hub_server() as there:
        use_hub(monkeypatch, there.url, tmp_path / "cache")
        there.add(PRIVATE, tiny_folder, private=True)
        there.add(GATED, tiny_folder, gated=True)
        there.tokens = {ALICES: {PRIVATE}, SITES: {GATED}}
        yield there


def of(owner, repo: str, slug: str = "m", **more) -> RegisteredModel:
    config = {"source": "hub", "repo": repo, "device": "cpu"}
    return make_model(owner, slug=slug, backend="causal", config=config, **{"ready": False} | more)


def approve(model, people) -> RegisteredModel:
    services.approve_model(model, actor=people.staff)
    run_pending()
    model.refresh_from_db()
    return model


def register(client, repo: str, slug: str = "m", **more):
    data = {"kind": "hub", "repo": repo, "slug": slug, "name": "M", "visibility": "private", **more}
    return client.post(reverse("model-register"), data)


def test_a_members_private_model_is_reviewed_checked_and_run_with_their_token(
    people, server, client, caplog, no_child
):
    hub_token.store_token(ALICES, actor=people.alice)
    client.force_login(people.alice)
    assert b"model.safetensors" in register(client, PRIVATE).content
    register(client, PRIVATE, reviewed="yes")
    model = approve(RegisteredModel.objects.get(slug="m"), people)
    assert (model.status, model.status_reason) == ("ready", "")
    with warm.loaded_model(model) as backend:
        assert backend.facts.fingerprint == model.fingerprint
    assert server.tokens_sent("storage") == {""}
    assert f"Bearer {SITES}" not in server.tokens_sent()
    dump = io.StringIO()
    call_command("dumpdata", stdout=dump)
    for text in (
        dump.getvalue(),
        json.dumps(model.facts),
        caplog.text,
        *Job.objects.values_list("log", flat=True),
    ):
        assert ALICES not in text
        assert SITES not in text


def test_nobody_elses_model_uses_a_members_token(people, server, client, no_child):
    hub_token.store_token(ALICES, actor=people.alice)
    for slug, owner in (("of-bob", people.bob), ("of-staff", people.staff)):
        model = approve(of(owner, PRIVATE, slug), people)
        assert (model.status, f"no model {PRIVATE} that is public" in model.status_reason) == ("broken", True)
    client.force_login(people.bob)
    assert b"model.safetensors" not in register(client, PRIVATE, "again").content
    assert f"Bearer {ALICES}" not in server.tokens_sent()


def test_weights_that_a_token_brought_are_not_given_to_another_member(people, server, no_child):
    hub_token.store_token(ALICES, actor=people.alice)
    brought = approve(of(people.alice, PRIVATE), people)
    copy = of(people.bob, PRIVATE, "copy")
    copy.config["revision"] = brought.source_revision
    copy.save()
    assert approve(copy, people).status == "broken"


def test_the_sites_token_is_used_from_approval_on(people, server, client, no_child):
    client.force_login(people.bob)
    page = register(client, GATED).content.decode()
    assert "tries the token of this" in page
    assert "will fail the check" not in page
    register(client, GATED, reviewed="yes")
    model = RegisteredModel.objects.get(slug="m")
    client.force_login(people.staff)
    client.post(reverse("model-approve", args=["m"]))  # the review before approval
    assert server.tokens_sent() == {""}
    assert approve(model, people).status == "ready"
    assert f"Bearer {SITES}" in server.tokens_sent()
    assert server.tokens_sent("storage") == {""}


def test_staff_who_correct_a_members_model_do_not_use_its_owners_token(people, server, client):
    hub_token.store_token(ALICES, actor=people.alice)
    of(people.alice, "gpt2")
    client.force_login(people.staff)
    client.post(reverse("model-correct", args=["m"]), {"kind": "hub", "repo": PRIVATE})
    assert server.tokens_sent() == {""}


def test_without_a_token_the_model_says_what_to_do(people, server, settings, no_child):
    settings.GYM_HUB_TOKEN = ""
    model = approve(of(people.bob, GATED), people)
    assert model.status == "broken"
    assert (
        f"Ask for access at {server.url}/{GATED}, then add your token on your profile page"
        in model.status_reason
    )


def test_a_token_that_cannot_be_decrypted_is_a_reason_and_no_error(
    people, server, client, settings, no_child
):
    hub_token.store_token(ALICES, actor=people.alice)
    model = of(people.alice, PRIVATE)
    settings.GYM_SECRETS_KEY = "another key"
    client.force_login(people.alice)
    assert b"cannot be read" in register(client, PRIVATE, "again").content
    assert "Hugging Face token cannot be read" in approve(model, people).status_reason


def test_account_page_adds_replaces_and_deletes_and_never_shows(people, client):
    client.force_login(people.alice)
    address = reverse("hub-token")
    for value in (ALICES, SITES):
        page = client.post(address, {"token": value}, follow=True)
        assert value not in page.content.decode()
        people.alice.refresh_from_db()
        assert value not in json.dumps(people.alice.secrets)
        assert hub_token.reveal_token(people.alice) == value
    client.post(reverse("hub-token-delete"))
    people.alice.refresh_from_db()
    assert people.alice.secrets == {}


@pytest.mark.parametrize("value", ["", "short", "hf_with space and more", "hf_" + "x" * 300, "hf_ümlaut000"])
def test_account_page_refuses_what_is_no_token(people, client, value):
    client.force_login(people.alice)
    page = client.post(reverse("hub-token"), {"token": value})
    assert page.status_code == 400
    assert not value or f'value="{value}"' not in page.content.decode()


def test_logs_are_without_tokens_of_the_hub():
    line = logging.LogRecord("x", logging.ERROR, "", 0, f"Bearer {ALICES} hf_hub_download", (), None)
    assert NoTokens().format(line) == "Bearer hf_… hf_hub_download"
