"""Quotas per account on the number and bytes of models and agents: every way of registering one checks them,
and a refusal leaves nothing behind.
"""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gym.accounts.quotas import OverQuota
from gym.agents.models import AgentServer
from gym.jobs.models import Job
from gym.runs.models import ResultUpload
from models_registry import services
from models_registry.models import RegisteredModel
from models_registry.quotas import MODELS
from tests.factories import make_model, make_suite

FULL = "You have 1 model; the limit is 1"
UNIFORM = {"kind": "uniform", "vocabulary_size": 1024, "name": "More", "slug": "more", "visibility": "public"}
AGENT = {"kind": "embedded", "name": "More", "slug": "more", "visibility": "private"}
ROWS = b"model,suite,item,correct\nelsewhere,agreement,1,True\nelsewhere,agreement,2,True\nelsewhere,agreement,3,True\n"
JSON = {"content_type": "application/json"}


@pytest.fixture
def alice(client, people, settings):
    make_model(people.alice)
    settings.GYM_QUOTA_MODELS = (1, 0)
    client.force_login(people.alice)
    return client


@pytest.mark.parametrize(
    "post",
    [
        lambda client: client.post(reverse("model-register"), UNIFORM),
        lambda client: client.post(
            "/api/v1/models/",
            {"slug": "more", "name": "More", "backend": "uniform", "config": {"vocabulary_size": 9}},
            **JSON,
        ),
        lambda client: client.post(reverse("agent-server-new"), AGENT),
        lambda client: client.post("/api/v1/agent-servers/", {"name": "More", "kind": "embedded"}, **JSON),
        lambda client: client.post(
            reverse("results-upload"),
            {
                "file": SimpleUploadedFile("o.csv", ROWS),
                "kind": "auto",
                "unit": "bits",
                "visibility": "private",
            },
        ),
    ],
    ids=["page", "api", "agent page", "agent api", "uploaded results"],
)
def test_one_more_is_refused_wherever_it_is_made(alice, people, post):
    make_suite(people.alice)
    answer = post(alice)
    assert answer.status_code == 400
    assert FULL in answer.content.decode()
    assert RegisteredModel.objects.count() == 1
    assert [model.objects.count() for model in (AgentServer, Job, ResultUpload)] == [0, 0, 0]


def test_a_refused_model_stays_when_there_is_no_room_for_the_next_try(people, settings):
    make_model(people.alice)
    make_model(people.alice, slug="second", status="refused", backend="ngram", config={"path": "x"})
    settings.GYM_QUOTA_MODELS = (1, 0)
    given = {"name": "Second", "backend": "uniform", "config": {"vocabulary_size": 9}}
    with pytest.raises(OverQuota):
        services.register_model(actor=people.alice, slug="second", **given)
    assert RegisteredModel.objects.filter(slug="second", status="refused").exists()


def test_another_try_at_a_refused_model_is_not_one_more(people, settings):
    make_model(people.alice, slug="second", status="refused", backend="ngram", config={"path": "x"})
    settings.GYM_QUOTA_MODELS = (1, 0)
    given = {"name": "Second", "backend": "uniform", "config": {"vocabulary_size": 9}}
    services.register_model(actor=people.alice, slug="second", **given)


@pytest.mark.parametrize("way", ["page", "api"])
def test_a_card_does_not_grow_past_the_bytes(client, people, settings, way):
    model = make_model(people.alice)
    settings.GYM_QUOTA_MODELS = (0, MODELS.amount_of(people.alice).bytes)
    client.force_login(people.alice)
    card = {"name": "N", "visibility": "public", "description": "x" * 5_000}
    if way == "page":
        answer = client.post(reverse("model-edit", args=[model.slug]), card)
    else:
        answer = client.patch(f"/api/v1/models/{model.slug}/", card, **JSON)
    assert answer.status_code == 400
    assert "the limit is" in answer.content.decode()
    model.refresh_from_db()
    assert model.description == ""
