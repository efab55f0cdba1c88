"""The same cases on several servers: one run on each, or none at all."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from gym.agents import services
from gym.agents.models import AgentRun
from gym.jobs.testing import run_pending
from tests.agents.site import make_server, make_suite


@pytest.fixture
def alice(client, people):
    client.force_login(people.alice)
    return client


def test_every_chosen_agent_gets_its_run(alice, people):
    suite = make_suite(people.alice)
    servers = [make_server(people.alice, name) for name in ("one", "two", "three")]
    assert alice.get(suite.get_absolute_url()).content.decode().count('name="server"') == 3
    answer = alice.post(
        reverse("agent-suite-run", args=[suite.slug]), {"server": [servers[0].pk, servers[2].pk]}
    )
    assert answer.url == suite.get_absolute_url() + "#runs"
    run_pending()
    runs = AgentRun.objects.all()
    assert {run.server for run in runs} == {servers[0], servers[2]}
    assert all(run.is_done for run in runs)


def test_without_an_agent_nothing_runs(alice, people):
    suite = make_suite(people.alice)
    make_server(people.alice)
    answer = alice.post(reverse("agent-suite-run", args=[suite.slug]), {}, follow=True)
    assert "Choose at least one server." in answer.content.decode()
    assert AgentRun.objects.count() == 0


def test_one_agent_that_is_not_ready_keeps_all_from_being_queued(people):
    suite = make_suite(people.alice)
    good, waiting = make_server(people.alice, "good"), make_server(people.alice, "waiting", ready=False)
    with pytest.raises(ValidationError, match="not ready"):
        services.queue_runs(suite, [good, waiting], actor=people.alice)
    assert AgentRun.objects.count() == 0


def test_the_api_names_the_field_the_server_and_the_choices(alice, people):
    suite = make_suite(people.alice)
    make_server(people.alice, "waiting", ready=False)

    def refused(address, **body):
        body = {"suite": suite.slug, **body}
        answer = alice.post(f"/api/v1/{address}", body, content_type="application/json")
        (problem,) = answer.json()["errors"]
        return problem["where"], problem["message"]

    state = "Waiting is not ready (state: being checked)."
    assert refused("agent-runs/", server="waiting") == ("$.server", state)
    assert refused("agent-runs/", server="waiting", reading="aloud") == (
        "$.reading",
        "“aloud” is not a valid choice. Choose from: document, reference-compatible.",
    )
