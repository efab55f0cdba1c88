"""Registering a model: required fields, refusals, and models that wait for approval."""

from __future__ import annotations

import re
import shutil
from types import SimpleNamespace

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse
from huggingface_hub import constants

from gym.jobs.models import Job
from models_registry import services
from models_registry.models import RegisteredModel
from tests.factories import make_model
from tests.lmgym.models.hub_server import hub_server, use_hub

ADDRESS = "/models/register/"
UNIFORM = {"kind": "uniform", "vocabulary_size": 1024, "name": "Ten bits", "slug": "ten-bits"}
HUB = {"kind": "hub", "repo": "openai-community/gpt2", "name": "GPT-2", "slug": "gpt2"}


def register(client, user, given: dict[str, object], **more):
    client.force_login(user)
    return client.post(ADDRESS, {"visibility": "public", "reviewed": "yes", **given, **more})


def test_a_baseline_is_checked_at_once_for_everybody(client, people):
    response = register(client, people.charlie, UNIFORM)
    model = RegisteredModel.objects.get()
    assert (response.status_code, response.url) == (302, "/models/ten-bits/")
    assert (model.owner, model.backend, model.status) == (people.charlie, "uniform", "unchecked")
    assert model.config == {"vocabulary_size": 1024, "unit": "word"}
    assert (model.check_job.kind, model.check_job.payload) == (
        "check_model",
        {"model": model.pk, "repin": False},
    )


@pytest.mark.parametrize(
    ("given", "backend", "config"),
    [
        (HUB, "causal", {"source": "hub", "repo": "openai-community/gpt2"}),
        (
            HUB | {"revision": "v1.0"},
            "causal",
            {"source": "hub", "repo": "openai-community/gpt2", "revision": "v1.0"},
        ),
        (
            {"kind": "directory", "path": " mine/gpt2 ", "name": "Mine", "slug": "mine"},
            "causal",
            {"source": "directory", "path": "mine/gpt2"},
        ),
        (
            {"kind": "ngram", "path": "five/model.ngram", "name": "Five", "slug": "five"},
            "ngram",
            {"path": "five/model.ngram"},
        ),
        (
            {"kind": "masked-hub", "repo": "google-bert/bert-base-cased", "name": "BERT", "slug": "bert"},
            "masked",
            {"source": "hub", "repo": "google-bert/bert-base-cased", "method": "within_word_l2r"},
        ),
        (
            {"kind": "masked-directory", "path": "b", "method": "original", "name": "B", "slug": "b"},
            "masked",
            {"source": "directory", "path": "b", "method": "original"},
        ),
    ],
    ids=["hub", "hub-revision", "directory", "ngram", "masked-hub", "masked-directory"],
)
def test_a_model_with_files_waits_for_staff_and_is_not_loaded(client, people, given, backend, config):
    response = register(client, people.charlie, given)
    model = RegisteredModel.objects.get()
    assert (model.status, model.backend, model.config) == ("unapproved", backend, config)
    assert (Job.objects.count(), model.check_job) == (0, None)
    page = client.get(response.url).content.decode()
    assert "Staff have to approve it before it is loaded." in page
    assert "Waiting for approval by staff. The model is not loaded until then." in page


@pytest.fixture
def hub(monkeypatch, tmp_path):
    with hub_server() as server:
        use_hub(monkeypatch, server.url, tmp_path)
        monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=2**30))
        files = dict.fromkeys(["config.json", "model.safetensors", "pytorch_model.bin"], b"{}")
        server.add("openai-community/gpt2", files, sizes={"model.safetensors": 3 * 2**20})
        server.old_names = {"gpt2": "openai-community/gpt2"}
        yield server


def text_of(response) -> str:
    """Return the page's HTML with every run of spaces and line breaks as one space."""
    return re.sub(r"[ \n]+", " ", response.content.decode())


def review(client, user) -> str:
    response = register(client, user, HUB, reviewed=[])
    assert (response.status_code, RegisteredModel.objects.count()) == (200, 0)
    return text_of(response)


def test_a_model_of_the_hub_is_reviewed_with_what_would_be_downloaded(client, people, hub):
    page = review(client, people.staff)
    assert "Register and download 3.0\xa0MB" in page
    assert "model.safetensors" in page
    assert "pytorch_model.bin" not in page  # never loaded, never downloaded
    assert "1.0\xa0GB" in page  # free
    assert '<input type="hidden" name="repo" value="openai-community/gpt2"' in page
    assert 'name="api_key"' not in page

    form = client.post(ADDRESS, {"visibility": "public", **HUB, "back": "yes"}).content.decode()
    assert 'value="openai-community/gpt2"' in form


def test_staff_that_approves_a_model_of_the_hub_reads_what_is_downloaded_first(client, people, hub):
    register(client, people.charlie, HUB)
    model = RegisteredModel.objects.get()
    client.force_login(people.staff)
    page = text_of(client.post(reverse("model-approve", args=[model.slug])))
    assert "Approve and download 3.0\xa0MB" in page
    assert "Files are downloaded when you approve the model." in page
    assert (RegisteredModel.objects.get().status, Job.objects.count()) == ("unapproved", 0)


def test_an_old_or_short_name_is_reviewed_with_the_present_one(client, people, hub):
    response = register(client, people.staff, HUB | {"repo": "gpt2"}, reviewed=[])
    assert 'openai-community/gpt2</code> <span class="quiet">entered as <code>gpt2</code>' in text_of(
        response
    )


def test_what_does_not_fit_the_disk_is_said_and_can_be_registered_all_the_same(client, people, hub):
    hub.repos["openai-community/gpt2"].sizes["model.safetensors"] = 2 * 2**30
    assert "The disk is too small." in review(client, people.charlie)
    assert register(client, people.charlie, HUB).status_code == 302


def test_a_hub_that_does_not_answer_leaves_the_size_unknown_and_is_no_obstacle(client, people, hub):
    hub.close()
    page = review(client, people.charlie)
    assert "Size unknown." in page
    assert "The Hub could not be reached" in page


def test_a_site_that_is_offline_says_so(client, people, hub, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "The Hub was not contacted: this machine is offline" in review(client, people.charlie)
    assert hub.requests == []


@pytest.mark.parametrize(
    ("kind", "name"), [("directory", "model.safetensors"), ("ngram", "model.ngram")], ids=["causal", "ngram"]
)
def test_a_folder_says_the_size_of_what_is_loaded(client, people, settings, tmp_path, kind, name):
    settings.GYM_MODEL_DIR = tmp_path
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.md").write_bytes(b"x" * 5000)
    given = {"kind": kind, "path": "mine", "name": "Mine", "slug": "mine"}
    page = register(client, people.charlie, given, reviewed=[]).content.decode()
    assert "The folder has no files for this kind of model." in page
    (tmp_path / "mine" / name).write_bytes(b"x" * 2048)
    page = register(client, people.charlie, given, reviewed=[]).content.decode()
    assert "Nothing is downloaded" in page
    assert "2.0\xa0KB" in page


def test_a_baseline_needs_no_review(client, people):
    assert register(client, people.charlie, UNIFORM, reviewed=[]).status_code == 302


def test_staffs_own_models_are_checked_without_waiting(client, people):
    register(client, people.staff, HUB)
    assert RegisteredModel.objects.get().check_job.state == "queued"


def test_card_tags_and_visibility_are_kept(client, people):
    card = {
        "description": "Knows nothing.",
        "authorship": "A. Author",
        "licence": "MIT",
        "corpus": "none",
        "perplexity": "1024",
        "url": "example.org/model",
        "bibtex": "@misc{x}",
    }
    register(client, people.charlie, UNIFORM, **card, visibility="private", tag_names="baseline, ten bits,")
    model = RegisteredModel.objects.get()
    assert {name: getattr(model, name) for name in card} == card | {
        "perplexity": 1024.0,
        "url": "https://example.org/model",
    }
    assert (model.visibility, model.tags) == ("private", ["baseline", "ten bits"])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (HUB | {"repo": ""}, "Required for this kind of model."),
        (HUB | {"repo": "gpt 2"}, "$.repo: &#x27;gpt 2&#x27; does not match"),
        (UNIFORM | {"vocabulary_size": "many"}, "Enter a whole number."),
        (UNIFORM | {"kind": "shell"}, "shell is not one of the available choices"),
        (UNIFORM | {"slug": "two words"}, "Use letters, digits, - and _ only."),
        (UNIFORM | {"slug": "register"}, "This name is taken by a page of the site."),
        (UNIFORM | {"url": "javascript:alert(1)"}, "Enter a valid URL."),
    ],
)
def test_what_does_not_fit_is_a_400_that_says_why_and_keeps_nothing(client, people, given, says):
    response = register(client, people.staff, given)
    assert response.status_code == 400
    assert says in response.content.decode()
    assert (RegisteredModel.objects.count(), Job.objects.count()) == (0, 0)


def test_a_slug_is_given_once(client, people):
    make_model(people.alice, slug="ten-bits")
    response = register(client, people.charlie, UNIFORM)
    assert response.status_code == 400
    assert "This short name is taken." in response.content.decode()
    with pytest.raises(ValidationError, match="already exists"):
        services.register_model(
            actor=people.charlie,
            slug="ten-bits",
            name="Again",
            backend="uniform",
            config={"vocabulary_size": 2},
        )
    assert RegisteredModel.objects.count() == 1


@pytest.mark.parametrize(
    ("backend", "config", "says"),
    [
        ("telepathy", {}, "Unknown backend 'telepathy'"),
        ("uniform", {"vocabulary_size": 8, "unit": "word", "shell": "rm"}, "'shell' was unexpected"),
        ("causal", {}, "'source' is a required property"),
        ("causal", {"source": "hub", "repo": "a/b", "trust_remote_code": True}, "'trust_remote_code'"),
        ("causal", {"source": "hub", "repo": "../../etc"}, r"\$\.repo: '\.\./\.\./etc' does not match"),
        ("causal", {"source": "hub", "repo": "https://huggingface.co/gpt2"}, r"\$\.repo: "),
        ("causal", {"source": "hub", "repo": "a/b", "revision": "-x"}, r"\$\.revision: '-x' does not match"),
        ("causal", {"source": "directory", "path": "/etc"}, r"\$\.path: '/etc'"),
        ("ngram", {"path": "../x"}, r"\$\.path: '\.\./x'"),
        ("uniform", {"vocabulary_size": 1}, "less than the minimum of 2"),
        ("uniform", {"vocabulary_size": 10**13}, "greater than the maximum of 1000000000000"),
    ],
)
def test_the_service_refuses_a_configuration_that_the_schema_refuses(people, backend, config, says):
    with pytest.raises(ValidationError, match=says):
        services.register_model(actor=people.staff, slug="x", name="X", backend=backend, config=config)
    assert not RegisteredModel.objects.exists()


def test_nobody_registers_without_an_account(client, people):
    assert client.post(ADDRESS, UNIFORM).url.startswith(reverse("login"))
    with pytest.raises(PermissionDenied):
        services.register_model(
            actor=people.nobody, slug="x", name="X", backend="uniform", config={"vocabulary_size": 2}
        )


def test_with_too_many_jobs_the_form_comes_back_and_nothing_is_registered(client, people, settings):
    settings.GYM_MAX_ACTIVE_JOBS_PER_USER = 1
    register(client, people.charlie, UNIFORM)
    response = register(client, people.charlie, UNIFORM | {"slug": "another"})
    assert response.status_code == 400
    assert response.context["form"].errors
    assert RegisteredModel.objects.count() == 1


def test_a_masked_model_s_page_says_that_its_bits_are_not_comparable(client, people):
    response = register(
        client, people.staff, {"kind": "masked-directory", "path": "b", "name": "B", "slug": "b"}
    )
    page = client.get(response.url).content.decode()
    assert "not comparable with the surprisals" in page
    assert "within_word_l2r" in page
