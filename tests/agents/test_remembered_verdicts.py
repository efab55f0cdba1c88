"""Verdicts are remembered as long as the judge is the same, and until somebody has them forgotten."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied

from gym.agents.models import AgentServer, AgentSuite, JudgeOpinion
from gym.agents.site import agent_adapters, services
from models_registry.models import RegisteredModel
from tests.agents.helpers import Scripted, said
from tests.agents.site import make_run, make_server, make_suite
from tests.factories import make_model

CASE = "agent: echo\ninteractions: [{text: hello, response: {text: {gist: It greets}}}]"


@pytest.fixture
def server(people):
    return make_server(people.alice)


@pytest.fixture
def suite(people, server, monkeypatch):
    judge = make_server(people.alice, "judge")
    AgentServer.objects.filter(pk=judge.pk).update(kind="chat", url="http://one.example", chat_model="small")
    answers = iter(["pass", "fail", "pass"])
    asked = Scripted(lambda body: said(next(answers)))
    known = agent_adapters.transport_for
    monkeypatch.setattr(
        agent_adapters, "transport_for", lambda row: asked if row.model.slug == "judge" else known(row)
    )
    return make_suite(people.alice, cases={"c": CASE}, judge=judge.model)


def verdict(suite, server) -> tuple[str, bool]:
    run = make_run(AgentSuite.objects.get(pk=suite.pk), server)
    judge = run.case_runs.get().results()[0].checks[0].judge
    return judge["verdict"], judge["cached"]


def test_the_same_judge_is_not_asked_twice(suite, server):
    assert [verdict(suite, server) for _ in range(2)] == [("pass", False), ("pass", True)]


@pytest.mark.parametrize(
    "change", [{"url": "http://two.example"}, {"chat_model": "large"}, {"version": "2"}, {"kind": "server"}]
)
def test_a_judge_that_became_another_one_is_asked_anew(suite, server, change):
    assert verdict(suite, server) == ("pass", False)
    AgentServer.objects.filter(model=suite.judge).update(**change)
    AgentSuite.objects.update(judge_agent="small")  # the agent asked stays the same
    assert verdict(suite, server) == ("fail", False)


def test_a_judge_that_speaks_for_a_model_is_another_one_with_other_weights(people, server):
    model = make_model(people.alice, slug="wrapped")
    speaker = AgentServer.objects.get(pk=server.pk)
    names = set()
    for fingerprint in ("a", "b"):
        RegisteredModel.objects.filter(pk=model.pk).update(fingerprint=fingerprint)
        speaker.wraps = RegisteredModel.objects.get(pk=model.pk)
        names.add(agent_adapters.identity_of(speaker))
    assert len(names) == 2


def test_forgotten_verdicts_are_asked_for_again(suite, server, client, people):
    assert verdict(suite, server) == ("pass", False)
    client.force_login(people.alice)
    page = f"/agents/{suite.slug}/edit/"
    assert "1 verdict is remembered" in client.get(page).content.decode()
    answer = client.post(f"/agents/{suite.slug}/verdicts/forget/", follow=True)
    assert "1 verdict of the judge forgotten" in answer.content.decode()
    assert "remembered" not in client.get(page).content.decode()
    assert verdict(suite, server) == ("fail", False)


def test_nobody_else_has_them_forgotten(suite, server, people):
    verdict(suite, server)
    with pytest.raises(PermissionDenied):
        services.forget_verdicts(suite, actor=people.charlie)
    assert JudgeOpinion.objects.count() == 1
