"""Comparison of two runs by check, and trends over the cases that runs share."""

from __future__ import annotations

import pytest

from gym.agents import services
from gym.agents.charts import suite_trend
from gym.agents.comparing import compare_runs
from gym.agents.models import AgentCase, CaseIteration
from gym.jobs.testing import run_pending
from tests.agents.site import GOOD, make_case, make_run, make_server, make_suite
from tests.once import once_a_module

pytestmark = pytest.mark.django_db
TWO = 'agent: echo, success_ratio: "{}", interactions: [{{text: FLAKY, response: {{text: {{keywords: [world, e]}}}}}}]'


built, people, server = once_a_module(lambda people: make_server(people.alice))


def test_the_check_that_differs_most_comes_first_with_both_rates(people, server, client):
    suite = make_suite(
        people.alice, cases={"hello": GOOD.replace("agent: echo", 'agent: echo, success_ratio: "6/6"')}
    )
    first = make_run(suite, server)
    case = make_case(suite)
    case.text = case.text.replace("{keywords: hello}", "{keywords: hello, not_keywords: hello}")
    services.save_case(case, actor=people.alice)
    second = make_run(suite, server)
    for row in CaseIteration.objects.filter(case_run__run=second):
        row.data["checks"][0]["outcome"] = "fail"
        row.save()
    (only,) = compare_runs(first, second, by_check=True).pairs[0].checks
    assert (only.facts.where, only.comparison.first_count, only.comparison.second_count) == (
        "response.text.keywords",
        "6/6",
        "0/6",
    )
    assert only.comparison.p == pytest.approx(0.00216, abs=1e-5)
    address = f"/agents/compare/?first={first.key}&second={second.key}&by=check"
    page = client.get(address).content.decode()
    assert "text.keywords" in page
    assert "0.002" in page
    answer = client.get(f"/api/v1/agent-compare/?first={first.key}&second={second.key}").json()
    [row] = answer["comparisons"][0]["checks"]
    assert row["where"] == "response.text.keywords"
    assert (row["first_passed"], row["first_n"], row["second_passed"], row["second_n"]) == (6, 6, 0, 6)


def test_of_the_same_answers_the_iterations_are_pairs(people, server):
    suite = make_suite(people.alice, cases={"hello": TWO.format("2/4")})
    first = make_run(suite, server, parallel=1)
    again = services.queue_rescoring(first, actor=people.alice)
    run_pending()
    rows = compare_runs(first, again, by_check=True).pairs[0].checks
    assert [(row.facts.element, row.comparison.only_first, row.comparison.only_second) for row in rows] == [
        (0, 0, 0),
        (1, 0, 0),
    ]


def test_the_trend_is_over_the_cases_that_the_runs_share_and_names_them(people, server):
    cases = dict.fromkeys(("a", "b", "c"), GOOD)
    suite = make_suite(people.alice, cases=cases)
    make_run(suite, server)
    make_run(suite, server, cases=list(suite.cases.filter(name__in=["a", "b"])))
    make_run(suite, server, cases=list(suite.cases.filter(name="c")))
    AgentCase.objects.create(suite=suite, name="new", text=GOOD, agent="echo")
    figure = suite_trend(suite, people.alice)
    assert figure is not None
    assert [row[4:6] for row in figure.rows] == [(2, 2), (2, 2)], "the run of c alone shares too little"
    assert (
        "over the 2 cases with verdicts in all these runs: a, b. Cases not in all runs: c, new."
        in figure.note
    )
