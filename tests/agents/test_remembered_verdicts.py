"""A run asks the judge about every answer; scoring again reuses its verdicts."""

from __future__ import annotations

import pytest

from gym.agents import agent_adapters, services
from gym.agents.models import AgentRun, AgentServer, AgentSuite
from gym.jobs.testing import run_pending
from tests.agents.site import make_case, make_run, make_server, make_suite
from tests.lmgym.agents.helpers import Scripted, said
from tests.once import once_a_module
from tests.page_text import text_of
from tests.people import People

CASE = 'agent: echo, success_ratio: "2/4"\ninteractions: [{text: hello, response: {text: {gist: It greets}}}]'


def make_world(people: People) -> tuple[AgentServer, AgentSuite]:
    judge = make_server(people.alice, "judge")
    AgentServer.objects.filter(pk=judge.pk).update(kind="chat", url="http://one.example", chat_model="small")
    return make_server(people.alice), make_suite(people.alice, cases={"c": CASE}, judge=judge.model)


built, people, world = once_a_module(make_world)


@pytest.fixture
def server(world) -> AgentServer:
    return world[0]


@pytest.fixture
def suite(world, monkeypatch) -> AgentSuite:
    """A suite whose judge alternates between pass and fail."""
    answers = iter(["pass", "fail"] * 20)
    asked = Scripted(lambda body: said(next(answers)))
    known = agent_adapters.transport_for
    monkeypatch.setattr(
        agent_adapters, "transport_for", lambda row: asked if row.model.slug == "judge" else known(row)
    )
    return world[1]


def again(run: AgentRun, **options: bool) -> AgentRun:
    made = services.queue_rescoring(run, actor=run.suite.owner, **options)
    run_pending()
    return AgentRun.objects.get(pk=made.pk)


def verdicts(run: AgentRun) -> list[tuple[str, bool]]:
    """Return (verdict, whether it was cached) for each iteration."""
    judges = [result.checks[0].judge for result in run.case_runs.get().results()]
    return [(judge["verdict"], judge["cached"]) for judge in judges]


def words(run: AgentRun) -> list[str]:
    return [verdict for verdict, _ in verdicts(run)]


def test_every_iteration_of_every_run_is_judged_anew(suite, server):
    for _ in range(2):
        made = make_run(suite, server, parallel=1)
        assert verdicts(made) == [("pass", False), ("fail", False)] * 2


def test_scoring_again_repeats_the_verdict_of_each_iteration(suite, server):
    first = make_run(suite, server, parallel=1)
    second = again(first)
    assert verdicts(second) == [(word, True) for word in words(first)]
    assert verdicts(again(second)) == verdicts(second)


def test_two_checks_of_one_criterion_keep_a_verdict_each(people, server, suite):
    both = CASE.replace("{gist: It greets}", "{gist: It greets, not_gist: It greets}").replace("2/4", "1/1")
    services.import_cases(suite, {"c": both}, actor=people.alice)
    first = make_run(suite, server)
    assert [check.outcome for check in first.case_runs.get().results()[0].checks] == ["pass", "pass"]
    assert [check.outcome for check in again(first).case_runs.get().results()[0].checks] == ["pass", "pass"]


def test_the_judge_is_asked_again_on_request(client, people, suite, server):
    first = make_run(suite, server, parallel=1)
    second = again(first, ask_judge=True)
    assert verdicts(second) == [("pass", False), ("fail", False)] * 2
    assert verdicts(again(second)) == [("pass", True), ("fail", True)] * 2
    client.force_login(people.alice)
    assert "Ask the judge again" in text_of(client.get(first.get_absolute_url()))
    answer = client.post(f"/agents/runs/{first.key}/rescore/", {"reading": "document", "ask_judge": "on"})
    assert answer.status_code == 302
    run_pending()
    assert not any(remembered for _, remembered in verdicts(AgentRun.objects.latest("pk")))


def test_a_changed_criterion_is_asked_about(people, suite, server):
    first = make_run(suite, server, parallel=1)
    case = make_case(suite, "c")
    case.text = CASE.replace("It greets", "It greets warmly")
    services.save_case(case, actor=people.alice)
    assert not any(remembered for _, remembered in verdicts(again(first)))


@pytest.mark.parametrize(
    "change", [{"url": "http://two.example"}, {"chat_model": "large"}, {"version": "2"}, {"kind": "server"}]
)
def test_a_judge_that_became_another_one_is_asked_anew(suite, server, change):
    first = make_run(suite, server, parallel=1)
    AgentServer.objects.filter(model=suite.judge).update(**change)
    AgentSuite.objects.update(judge_agent="small")  # the agent's name stays the same
    assert not any(remembered for _, remembered in verdicts(again(first)))


def test_results_do_not_tell_the_address_of_the_judge(suite, server):
    speaker = AgentServer.objects.get(model=suite.judge)
    assert "one.example" not in agent_adapters.identity_of(speaker)


def test_the_page_says_that_the_judge_contradicts_itself(client, people, suite, server):
    client.force_login(people.alice)
    page = text_of(client.get(make_run(suite, server, parallel=1).case_runs.get().get_absolute_url()))
    assert "The judge contradicts itself." in page
    assert "2 pass, 2 fail" in page


def test_verdicts_of_before_keys_were_stored_are_asked_for_again(suite, server):
    first = make_run(suite, server, parallel=1)
    for row in first.case_runs.get().iterations.all():
        del row.data["checks"][0]["judge"]["key"]
        row.save()
    second = again(first)
    assert words(second) == ["pass", "fail", "pass", "fail"]
    assert not any(remembered for _, remembered in verdicts(second))
