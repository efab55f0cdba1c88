"""Every run is reachable from the lists, however many there are."""

from __future__ import annotations

from django.urls import reverse

from gym.agents.models import AgentRun
from gym.agents.run_views import PER_PAGE
from gym.agents.selectors import RUNS_SHOWN
from tests.agents.site import make_server, make_suite
from tests.agents.test_the_matrix import finished_run
from tests.once import once_a_module
from tests.people import People

MANY = PER_PAGE + 10


def make_runs(people: People) -> list[AgentRun]:
    suite, server = make_suite(people.alice), make_server(people.alice)
    cases = list(suite.cases.all())
    return [finished_run(suite, server, cases, age=age) for age in range(MANY)]


built, people, runs = once_a_module(make_runs)


def page_of(client, address: str, **query) -> str:
    return client.get(address, query).content.decode()


def test_pages_that_show_the_newest_lead_to_all_of_them(client, runs):
    everything = reverse("agent-runs")
    suite, server = runs[0].suite, runs[0].server
    assert f"{everything}?suite={suite.slug}" in page_of(client, suite.get_absolute_url())
    assert f"{everything}?server={server.model.slug}" in page_of(client, server.get_absolute_url())
    assert f"{everything}?first={runs[0].key}" in page_of(client, runs[0].get_absolute_url())
    AgentRun.objects.filter(pk__in=[run.pk for run in runs[RUNS_SHOWN:]]).delete()
    assert f"{everything}?" not in page_of(client, suite.get_absolute_url())


def test_all_runs_are_on_pages(client, runs):
    for query in ({}, {"suite": runs[0].suite.slug}, {"server": runs[0].server.model.slug}):
        first, last = (page_of(client, reverse("agent-runs"), **query, page=page) for page in (1, 2))
        there = [(run.get_absolute_url() in first, run.get_absolute_url() in last) for run in runs]
        assert there == [(True, False)] * PER_PAGE + [(False, True)] * 10


def test_any_finished_run_can_be_compared_with(client, runs):
    AgentRun.objects.filter(pk=runs[3].pk).update(completed_at=None)
    oldest = page_of(client, reverse("agent-runs"), first=runs[0].key, page=2)
    assert f"?first={runs[0].key}&amp;second={runs[-1].key}" in oldest
    newest = page_of(client, reverse("agent-runs"), first=runs[0].key)
    assert f"second={runs[1].key}" in newest
    assert f"second={runs[0].key}" not in newest
    assert f"second={runs[3].key}" not in newest


def test_runs_of_what_is_hidden_are_not_listed(client, people, runs):
    hidden = make_suite(people.bob, "hidden", visibility="private")
    secret = finished_run(hidden, runs[0].server, hidden.cases.all(), age=0)
    assert secret.key not in page_of(client, reverse("agent-runs"))
    assert client.get(reverse("agent-runs"), {"suite": "hidden"}).status_code == 404
    assert client.get(reverse("agent-runs"), {"first": secret.key}).status_code == 404
    client.force_login(people.bob)
    assert secret.key in page_of(client, reverse("agent-runs"))


def test_the_number_of_queries_does_not_grow_with_the_runs(client, runs, django_assert_max_num_queries):
    with django_assert_max_num_queries(8):
        client.get(reverse("agent-runs"))
