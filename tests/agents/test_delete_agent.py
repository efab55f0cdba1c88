"""The owner deletes a server with its card and secrets; a server with runs cannot be deleted."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.agents.models import AgentServer
from models_registry.models import RegisteredModel
from tests.agents.site import make_run, make_server, make_suite


@pytest.mark.parametrize("who", ["alice", "staff"])
def test_the_owner_deletes_an_agent_from_its_page(client, people, who):
    server = make_server(people.alice)
    client.force_login(getattr(people, who))
    address = reverse("agent-server-delete", args=["embedded"])
    assert f'action="{address}"' in client.get(server.get_absolute_url()).content.decode()
    answer = client.post(address, follow=True)
    assert "Embedded was deleted." in answer.content.decode()
    assert not AgentServer.objects.exists()
    assert not RegisteredModel.objects.filter(slug="embedded").exists()


def test_an_agent_with_results_stays_and_says_why(client, people):
    server = make_server(people.alice)
    make_run(make_suite(people.alice), server)
    client.force_login(people.alice)
    answer = client.post(reverse("agent-server-delete", args=["embedded"]), follow=True)
    assert "so it cannot be deleted" in answer.content.decode()
    assert AgentServer.objects.filter(pk=server.pk).exists()


def test_an_agent_that_is_being_checked_stays(client, people):
    make_server(people.alice, ready=False)
    client.force_login(people.alice)
    answer = client.post(reverse("agent-server-delete", args=["embedded"]), follow=True)
    assert "check of this server has not finished" in answer.content.decode()
    assert AgentServer.objects.exists()


@pytest.mark.parametrize(("who", "status"), [("charlie", 403), ("bob", 403)])
def test_others_may_not(client, people, who, status):
    server = make_server(people.alice)
    client.force_login(getattr(people, who))
    assert "Delete this agent" not in client.get(server.get_absolute_url()).content.decode()
    assert client.post(reverse("agent-server-delete", args=["embedded"])).status_code == status
    assert AgentServer.objects.exists()
