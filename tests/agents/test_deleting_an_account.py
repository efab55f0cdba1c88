"""Deleting an account: private servers and tests are deleted, the others lose their secrets."""

from __future__ import annotations

import pytest

from gym.accounts.models import User
from gym.agents import services
from gym.agents.models import AgentRun, AgentServer, AgentSuite
from gym.jobs.models import Job
from gym.pages.account_deletion import FORMER_MEMBER
from tests.agents.site import make_run, make_server, make_suite

DELETE = "/accounts/delete/"


@pytest.fixture
def alice(client, people) -> User:
    client.force_login(people.alice)
    return people.alice


def delete(client) -> None:
    answer = client.post(DELETE, {"password": "alice"})
    assert (answer.status_code, answer.url) == (302, "/")
    assert not User.objects.filter(username="alice").exists()


def test_private_agents_and_suites_go_with_their_runs(client, alice):
    server = make_server(alice, visibility="private")
    make_run(make_suite(alice, visibility="private"), server)
    assert "Agent tests <a" in client.get(DELETE).content.decode()
    delete(client)
    assert not AgentSuite.objects.exists()
    assert not AgentServer.objects.exists()
    assert not AgentRun.objects.exists()


def test_public_ones_stay_without_name_and_secrets(client, alice):
    server = make_server(alice, "open")
    AgentServer.objects.update(secrets={"Authorization": "sealed"})
    suite = make_suite(alice, variables={"KEY": "hush-hush"})
    run = make_run(suite, server)
    delete(client)
    suite.refresh_from_db()
    run.refresh_from_db()
    server = AgentServer.objects.get()
    assert {suite.owner.username, server.model.owner.username} == {FORMER_MEMBER}
    assert (suite.variables, server.secrets, run.owner) == ({}, {}, None)


def test_a_public_suite_loses_the_runs_on_a_private_agent(client, alice):
    make_run(make_suite(alice), make_server(alice, visibility="private"))
    delete(client)
    assert AgentSuite.objects.count() == 1
    assert not AgentRun.objects.exists()


def test_suites_that_others_have_run_stay(client, people, alice):
    suite = make_suite(alice)
    make_run(suite, make_server(people.bob), actor=people.bob)
    AgentSuite.objects.update(visibility="private")
    delete(client)
    suite.refresh_from_db()
    assert (suite.owner.username, suite.runs.get().owner) == (FORMER_MEMBER, people.bob)


def test_a_run_that_waits_is_cancelled(client, alice):
    services.queue_run(make_suite(alice), make_server(alice), actor=alice)
    delete(client)
    assert set(Job.objects.values_list("state", flat=True)) <= {"done", "cancelled"}
