"""The choice of servers for a run, and of judges and their agents."""

from __future__ import annotations

import pytest

from gym.agents import services
from gym.agents.forms import OTHERS, RunForm, SuiteForm
from gym.agents.models import AgentServer, AgentSuite
from tests.agents.site import make_case, make_server, make_suite

pytestmark = pytest.mark.django_db


@pytest.fixture
def servers(people):
    """Two servers: one lists echo, judge and other agents, the other lists only `other`."""
    full, small = make_server(people.alice), make_server(people.alice, slug="small")
    AgentServer.objects.filter(pk=small.pk).update(agents=[{"agent_name": "other"}])
    return full, small


def test_servers_that_list_the_agent_come_first_and_the_others_say_what_they_lack(people, servers):
    form = RunForm(user=people.alice, agents=["echo"])
    (first, _), (group, others) = form.fields["server"].choices
    assert (first, group) == (servers[0].pk, OTHERS)
    assert [(pk, "does not list echo" in label) for pk, label in others] == [(servers[1].pk, True)]
    assert form.fields["server"].initial == [servers[0].pk]


def test_a_case_is_run_from_its_page(people, servers, client):
    suite = make_suite(
        people.alice, cases={"hello": "agent: echo, interactions: [{text: hi}]", "b": "agent: other"}
    )
    case = make_case(suite)
    client.force_login(people.alice)
    page = client.get(case.get_absolute_url()).content.decode()
    assert f'name="case" value="{case.pk}"' in page
    assert "Run this case" in page
    client.post(f"/agents/{suite.slug}/run/", {"server": [servers[0].pk], "case": [case.pk]})
    assert [row.name for run in suite.runs.all() for row in run.case_runs.all()] == ["hello"]


def test_strangers_see_where_to_sign_in(people, client):
    suite = make_suite(people.alice)
    page = client.get(make_case(suite).get_absolute_url()).content.decode()
    assert "to run it" in page
    assert "/accounts/login/?next=" in page


def sent(**more):
    return {
        "title": "Manners",
        "slug": "manners",
        "visibility": "public",
        "judge_votes": 1,
        "judge_agent": "",
        **more,
    }


def test_the_judge_agent_is_picked_from_the_lists_of_servers_each_name_once(people, servers):
    full, small = servers
    small.agents = [{"agent_name": "other"}, {"agent_name": "echo"}]
    small.save()
    choices = dict(SuiteForm(user=people.alice).fields["judge_agent"].choices)
    assert (choices["judge"], choices["echo"]) == ("judge · Embedded", "echo · Embedded, Small")
    assert list(choices) == ["", *sorted([*(one["agent_name"] for one in full.agents), "other"])]


def test_a_judge_agent_that_the_judge_does_not_list_is_refused_by_page_and_api(people, servers, client):
    client.force_login(people.alice)
    form = sent(judge=servers[1].model_id, judge_agent="judge")
    page = client.post("/agents/new/", form)
    assert "Small does not list the agent judge" in page.content.decode()
    body = {"title": "Manners", "judge": "small", "judge_agent": "judge"}
    answer = client.post("/api/v1/agent-suites/", body, content_type="application/json")
    (problem,) = answer.json()["errors"]
    assert (answer.status_code, problem["where"]) == (400, "$.judge_agent")
    assert not AgentSuite.objects.exists()
    client.post("/agents/new/", form | {"judge": servers[0].model_id})
    assert AgentSuite.objects.get().judge_agent == "judge"


def test_a_judge_agent_that_is_no_longer_listed_is_kept(people, servers):
    suite = make_suite(people.alice, judge=servers[0].model, judge_agent="judge")
    AgentSuite.objects.update(judge_agent="gone")
    suite.refresh_from_db()
    services.save_suite(suite, actor=people.alice)
    form = SuiteForm(
        sent(judge=servers[0].model_id, judge_agent="gone"),
        instance=AgentSuite.objects.get(),
        user=people.alice,
    )
    assert form.is_valid(), form.errors
    assert form.fields["judge_agent"].choices[1] == ("gone", "gone (no longer listed)")
    assert suite.judge_agent == "gone"
