"""The check of an agent server: its health, malformed data, and reasons for failure."""

from __future__ import annotations

import pytest

from gym.agents import actors
from gym.agents.models import AgentServer
from gym.jobs.testing import run_pending
from lmgym.agents.transport import TransportError
from tests.agents.site import make_server
from tests.lmgym.agents.helpers import Scripted


class DictTransport(Scripted):
    """Transport that answers GETs from a dictionary, and other addresses with 404."""

    def __init__(self, told):
        super().__init__(lambda body: None)
        self.told = told
        self.paths = []

    def get(self, path, deadline):
        self.paths.append(path)
        if path not in self.told:
            raise TransportError("status", "The server answered 404.")
        return self.told[path]


def check(people, monkeypatch, told):
    """Return the server and transport after a check, whose job must succeed whatever it finds."""
    transport = DictTransport({"/api/v1/list": {"agents": [{"agent_name": "a"}]}, **told})
    monkeypatch.setattr(actors, "transport_for", lambda server: transport)
    server = make_server(people.alice, ready=False)
    run_pending()
    server = AgentServer.objects.select_related("model__check_job").get(pk=server.pk)
    assert server.model.check_job.state == "done", server.model.check_job.error
    return server, transport


@pytest.mark.parametrize("odd", ["\ud800", "a\0b", "\udfff\0"])
def test_text_that_no_database_takes_is_replaced(people, monkeypatch, odd):
    told = {
        "/healthz": {"status": "ok", "versions": {odd: odd}},
        "/api/v1/list": {"agents": [{"agent_name": odd, "description": odd, "tags": [odd]}]},
    }
    server, _ = check(people, monkeypatch, told)
    assert server.model.status == "ready", server.model.status_reason
    assert "\ufffd" in server.agents[0]["agent_name"]
    assert "\ufffd" in server.agents[0]["tags"][0]
    assert "\ufffd" in server.version


@pytest.mark.parametrize("nodes", [{"a": 1}, 5, "text", None, [5, None, {"origin": 5, "tools": 7}]])
def test_a_graph_of_an_odd_shape_is_left_out(people, monkeypatch, nodes):
    server, _ = check(people, monkeypatch, {"/api/v1/a/connectivity": {"connectivity_info": nodes}})
    assert server.model.status == "ready"
    assert len(server.graphs["a"]) == (1 if isinstance(nodes, list) else 0)


def test_what_is_nested_too_deep_is_refused_with_a_reason(people, monkeypatch):
    deep = []
    for _ in range(900):
        deep = [deep]
    server, _ = check(people, monkeypatch, {"/api/v1/a/connectivity": {"connectivity_info": deep}})
    assert (server.model.status, server.graphs) == ("ready", {})
    server.model.delete()
    server, _ = check(people, monkeypatch, {"/api/v1/list": {"agents": [{"agent_name": "a", "tags": deep}]}})
    assert (server.model.status, "nested too deep" in server.model.status_reason) == ("broken", True)


@pytest.mark.parametrize("listed", [None, [], {"agents": None}, {"agents": {"a": 1}}, "agents", 5])
def test_no_list_of_agents_is_no_agent_server(people, monkeypatch, listed):
    server, _ = check(people, monkeypatch, {"/api/v1/list": listed})
    assert (server.model.status, "no list of agents" in server.model.status_reason) == ("broken", True)


def test_the_name_of_an_agent_leads_to_no_other_address(people, monkeypatch):
    told = {"/api/v1/list": {"agents": [{"agent_name": "a?b#c d"}, {"agent_name": "deep/er"}]}}
    _, transport = check(people, monkeypatch, told)
    assert transport.paths[2:] == ["/api/v1/a%3Fb%23c%20d/connectivity", "/api/v1/deep/er/connectivity"]


@pytest.mark.parametrize("status", ["down", "DOWN", "unhealthy", False, "starting", ""])
def test_a_server_that_says_it_is_not_well_is_not_ready(people, monkeypatch, status):
    server, _ = check(people, monkeypatch, {"/healthz": {"status": status}})
    assert server.model.status == "broken"
    assert f"{str(status)!r}" in server.model.status_reason


@pytest.mark.parametrize("health", [{"status": "ok"}, {"status": "UP"}, {"status": True}, {}, [], "ok", None])
def test_a_server_that_is_well_or_says_nothing_is_ready(people, monkeypatch, health):
    assert check(people, monkeypatch, {"/healthz": health})[0].model.status == "ready"


def test_a_server_without_the_address_of_its_health_is_ready(people, monkeypatch):
    assert check(people, monkeypatch, {})[0].model.status == "ready"
