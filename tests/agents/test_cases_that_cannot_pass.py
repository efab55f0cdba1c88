"""A case that no iteration can pass is run once, and every report gives the reason."""

from __future__ import annotations

import pytest

from gym.agents.models import AgentRun
from lmgym.agents.reports import table
from tests.agents.site import make_run, make_server, make_suite
from tests.lmgym.agents.helpers import judge_saying, run, says

CASE = 'agent: echo, success_ratio: "{}", {}interactions: [{{text: q, response: {{{}}}}}]'


@pytest.mark.parametrize(
    ("more", "response", "outcome", "why"),
    [
        ("connections: grpc, ", "text: {keywords: q}", "error", "Connections over grpc are not supported"),
        ("", "text: {value: 3}", "fail", "Turn 1, text.value: Text never equals a number."),
        ("", "text: {k: {value: x}}", "fail", "The text of an answer has no keys."),
        ("", "text: {keywords: 3}", "error", "Text cannot be searched for a number."),
        ("", "text: {less: 3}", "error", "Text and a number cannot be ordered."),
        ("", "text: {gist: Is kind}", "error", "No judge is configured"),
    ],
)
def test_the_agent_is_asked_once_and_every_report_says_why(more, response, outcome, why):
    agent = says("q")
    result = run(CASE.format("5/10", more, response), agent)
    assert (result.outcome, len(result.iterations), len(agent.asked) <= 1) == (outcome, 1, True)
    assert why in result.unsatisfiable
    told = table([("odd", result)])
    assert "Run once, because no iteration can pass." in told
    assert why in told
    assert result.early_stop, "a rate of one iteration has no interval here"


@pytest.mark.parametrize(
    "response",
    ["text: {not_value: 3}", "structure: {k: {value: 3}}", "text: {keywords: q}, sly_data: {k: {less: 1}}"],
)
def test_cases_that_may_pass_are_asked_as_often_as_they_say(response):
    assert len(run(CASE.format("2/4", "", response), says("q"), parallel=1).iterations) == 4


def test_with_a_judge_gist_may_pass():
    result = run(CASE.format("2/2", "", "text: {gist: Is kind}"), says("q"), judge=judge_saying("pass"))
    assert (result.outcome, result.unsatisfiable) == ("pass", "")


@pytest.mark.django_db
def test_runs_of_the_site_too_and_their_page_says_so(people, client):
    suite = make_suite(people.alice, cases={"odd": CASE.format("5/10", "", "text: {value: 3}")})
    server = make_server(people.alice)
    made = make_run(suite, server)
    (row,) = AgentRun.objects.get(pk=made.pk).case_runs.all()
    assert (row.outcome, row.iterations.count(), made.job.total) == ("fail", 1, 1)
    page = client.get(row.get_absolute_url()).content.decode()
    assert "Run once, because no iteration can pass." in page
    assert "Text never equals a number." in page
