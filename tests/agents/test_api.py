"""Agent tests through the REST API."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.accounts.tokens import create_token
from gym.jobs.testing import run_pending
from tests.agents.site import GOOD, make_server, make_suite


@pytest.fixture
def alice(client, people):
    _, key = create_token(actor=people.alice, name="t", scopes=["read", "write", "run"])
    client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {key}"
    return client


def test_from_cases_to_results(alice, people):
    make_server(people.alice)
    make_suite(people.alice)
    address = reverse("api-agent-cases", args=["manners"])
    answer = alice.post(address, {"cases": {"two": GOOD}}, content_type="application/json")
    assert answer.status_code == 201
    assert [case["name"] for case in alice.get(address).json()["results"]] == ["hello", "two"]
    given = {"suite": "manners", "server": "embedded", "reading": "document"}
    answer = alice.post(reverse("api-agent-runs"), given, content_type="application/json")
    assert answer.status_code == 201
    assert {name: answer.json()[name] for name in given} == given
    run_pending()
    run = alice.get(answer["Location"]).json()
    assert (run["state"], [case["outcome"] for case in run["cases"]]) == ("done", ["pass", "pass"])
    results = alice.get(reverse("api-agent-results", args=[run["id"]])).json()
    assert results["cases"][0]["iterations"][0]["turns"][0]["text"] == "echo: hello"
    assert [row["id"] for row in alice.get(reverse("api-agent-runs")).json()["results"]] == [run["id"]]
    assert alice.get(reverse("api-agent-servers")).json()["results"][0]["state"] == "ready"


def test_results_of_a_run_under_way_are_asked_for_later(alice, people):
    make_server(people.alice)
    make_suite(people.alice)
    given = {"suite": "manners", "server": "embedded"}
    key, other = (
        alice.post(reverse("api-agent-runs"), given, content_type="application/json").json()["id"]
        for _ in range(2)
    )
    addresses = [reverse("api-agent-results", args=[key]), reverse("api-agent-run-file", args=[key, "junit"])]
    addresses += [f"{reverse('api-agent-compare')}?first={key}&second={other}"]
    for address in addresses:
        answer = alice.get(address)
        assert (answer.status_code, answer.json()["code"]) == (409, "unfinished")
        assert int(answer["Retry-After"]) > 0
    run_pending()
    assert [alice.get(address).status_code for address in addresses] == [200] * 3


def test_bad_cases_are_refused_with_their_places(alice, people):
    make_suite(people.alice)
    address = reverse("api-agent-cases", args=["manners"])
    answer = alice.post(address, {"cases": {"bad": "agent: "}}, content_type="application/json")
    assert answer.status_code == 400
    assert "line 1" in answer.json()["detail"]
