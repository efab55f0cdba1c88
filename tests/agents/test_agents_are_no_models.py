"""An agent server has a registry row and its own page, but is never offered as a model."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.urls import reverse

from gym.runs.work.score_requests import queue_scores
from gym.runs.work.services import queue_run
from lmgym.models.engine import ScoringPolicy
from models_registry.services import check_model
from tests.agents.site import make_run, make_server, make_suite
from tests.factories import make_revision
from tests.lmgym.suites.documents import suite_bytes


@pytest.fixture
def agent(people):
    return make_server(people.alice)


def test_the_address_of_a_model_leads_to_the_agents_own_page(client, people, agent):
    run = make_run(make_suite(people.alice), agent)
    answer = client.get(reverse("model-detail", args=["embedded"]), follow=True)
    assert answer.redirect_chain == [(agent.get_absolute_url(), 302)]
    page = answer.content.decode()
    assert "Not hosted here" not in page
    assert "uploaded" not in page
    assert f'href="{run.suite.get_absolute_url()}"' in page
    answer = client.get(reverse("model-status", args=["embedded"]))
    assert answer.url == reverse("agent-server-status", args=["embedded"])


def test_the_address_of_somebodys_private_agent_tells_nothing(client, people):
    make_server(people.alice, slug="hidden", visibility="private")
    client.force_login(people.charlie)
    assert client.get(reverse("model-detail", args=["hidden"])).status_code == 404


def test_the_api_tells_an_agent_from_a_model_of_uploaded_results(client, people, agent):
    client.force_login(people.alice)
    card = client.get("/api/v1/models/embedded/").json()
    assert (card["backend"], card["status"]) == ("agent", "ready")
    answer = client.post("/api/v1/models/embedded/check/")
    assert answer.status_code == 400
    assert "is an agent" in answer.json()["detail"]
    assert "agent-servers/embedded/check/" in answer.json()["detail"]
    answer = client.post(
        "/api/v1/score/", {"model": "embedded", "sentences": ["A dog."]}, content_type="application/json"
    )
    assert answer.json()["errors"][0]["where"] == "$.model"
    assert "is an agent: it runs on agent tests" in answer.json()["detail"]


def test_whoever_wants_surprisals_of_an_agent_reads_that_it_has_none(people, agent, tmp_path):
    revision = make_revision(people.alice)
    file = tmp_path / "suite.json"
    file.write_bytes(suite_bytes())
    deeds = [
        lambda: queue_run(revision, agent.model, actor=people.alice),
        lambda: queue_scores(["A dog."], agent.model, ScoringPolicy(), actor=people.alice),
        lambda: check_model(agent.model, actor=people.alice),
    ]
    for deed in deeds:
        with pytest.raises(ValidationError, match="is an agent: it runs on agent tests"):
            deed()
    with pytest.raises(CommandError, match="is an agent: it runs on agent tests"):
        call_command("evaluate", str(file), model="embedded")
