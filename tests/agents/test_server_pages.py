"""Pages of agent servers: register, check, edit; secrets are never shown."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.agents.models import AgentServer
from gym.jobs.testing import run_pending
from tests.agents.site import make_server
from tests.page_text import text_of


@pytest.fixture
def alice(client, people):
    client.force_login(people.alice)
    return client


def test_registering_a_server_reads_its_version_and_agents(alice):
    given = {"kind": "embedded", "name": "Mine", "visibility": "private", "secret_headers": ""}
    answer = alice.post(reverse("agent-server-new"), given)
    assert answer.status_code == 302
    run_pending()
    page = text_of(alice.get(answer.url))
    assert "math_guy" in page
    assert "lm-gym-embedded 1.0" in page
    assert "calculator" in page
    assert "Mine" in text_of(alice.get(reverse("model-list")))
    assert alice.get(reverse("model-detail", args=["mine"])).status_code in (200, 302)


def test_invalid_addresses_and_headers_are_refused_at_their_field(alice):
    given = {
        "kind": "server",
        "name": "Mine",
        "visibility": "private",
        "url": "ftp://x",
        "secret_headers": "",
    }
    answer = alice.post(reverse("agent-server-new"), given)
    assert answer.status_code == 400
    assert "must begin with http://" in text_of(answer)
    given |= {"url": "http://x.example.org", "secret_headers": "Host: x"}
    assert "cannot be the name of a header" in text_of(alice.post(reverse("agent-server-new"), given))
    assert AgentServer.objects.count() == 0


def test_secret_headers_show_their_names_but_never_their_values(alice, people):
    url = "http://x.example.org"
    given = {
        "kind": "server",
        "name": "Mine",
        "visibility": "public",
        "url": url,
        "secret_headers": "X-Api-Key: hush-hush",
    }
    alice.post(reverse("agent-server-new"), given)
    server = AgentServer.objects.get()
    pages = [reverse("agent-server", args=["mine"]), reverse("agent-server-edit", args=["mine"])]
    for page in pages:
        shown = text_of(alice.get(page))
        assert "X-Api-Key" in shown
        assert "hush" not in shown
    alice.post(pages[1], {"url": url, "chat_model": "", "secret_headers": "X-Api-Key"})
    assert AgentServer.objects.get().secrets == server.secrets
    alice.post(pages[1], {"url": url, "chat_model": "", "secret_headers": ""})
    assert AgentServer.objects.get().secrets == {}


def test_strangers_see_neither_address_nor_names_of_secrets(client, people):
    secret = {"X-Api-Key": "hush"}
    server = make_server(
        people.alice, "open", kind="server", url="http://inside.example", ready=False, secret_headers=secret
    )
    page = text_of(client.get(server.get_absolute_url()))
    assert "inside.example" not in page
    assert "X-Api-Key" not in page
