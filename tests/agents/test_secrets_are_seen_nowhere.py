"""Secrets of suites and servers, including those stored by earlier versions, appear in no result, export, log
or error.
"""

from __future__ import annotations

import json

import pytest
from django.core.exceptions import ValidationError

from gym.agents import actors, forms, inputs, services
from gym.agents.models import (
    AgentRun,
    AgentSuite,
    CaseIteration,
)
from gym.secrets import encrypt
from lmgym.agents import reports
from lmgym.agents.redact import HIDDEN, redactor
from tests.agents.site import make_run, make_server, make_suite
from tests.lmgym.agents.helpers import Scripted, run, said, says
from tests.once import once_a_module

LONG = "sk-" + "0123456789abcdef" * 40
ODD = 'it\'s "odd" \\ and\nof two lines, ü'
CASE = "agent: echo\ninteractions: [{text: ${KEY}, response: {%s}}]"


built, people, server = once_a_module(lambda people: make_server(people.alice))


def stored(run: AgentRun) -> str:
    return json.dumps(
        [row.data for row in CaseIteration.objects.filter(case_run__run=run)], ensure_ascii=False
    )


@pytest.mark.parametrize(
    "test", ["value", "not_value", "keywords", "not_keywords", "less", "not_greater", "gist"]
)
@pytest.mark.parametrize("key", [LONG, ODD, "hush-hush"])
def test_no_part_of_a_secret_is_in_what_a_check_says(people, server, monkeypatch, test, key):
    suite = make_suite(
        people.alice, variables={"KEY": key}, cases={"c": CASE % f"text: {{{test}: ${{KEY}}}}"}
    )
    made = make_run(suite, server)
    everything = stored(made) + reports.junit([("c", made.case_runs.get().result())])
    for part in {key[:12], key[-8:], json.dumps(key)[1:9], repr(key)[1:9]}:
        assert part not in everything


def test_what_is_cut_keeps_no_beginning_of_a_secret():
    for at in range(80, 119):
        text = "x" * at + LONG
        check = (
            run(
                f'agent: a, interactions: [{{text: q, response: {{text: {{value: "{text}"}}}}}}]',
                says(text + " and"),
                secrets=(LONG,),
            )
            .iterations[0]
            .checks[0]
        )
        assert "sk-0" not in json.dumps([check.comparison, check.message, check.expected, check.actual])


def test_a_secret_of_digits_is_hidden_as_a_number_and_our_own_numbers_stay():
    clean = redactor(["20261"])
    hidden = f"{HIDDEN} (a number)"
    assert clean({"pin": 20261, "n": [20261, 2026, True]}) == {"pin": hidden, "n": [hidden, 2026, True]}
    transport = says("x", structure={"pin": 5005})
    result = run("agent: a, interactions: [{text: q}]", transport, secrets=("5005",))
    assert result.iterations[0].turns[0].structure == {"pin": hidden}


def test_an_agent_named_by_a_variable_is_named_in_no_error(people, server, client):
    suite = make_suite(
        people.alice, cases={"c": "agent: ${KEY}\ninteractions: [{text: q}]"}, variables={"KEY": "hush"}
    )
    services.save_suite(suite, actor=people.alice, variables={"KEY": "hush? #hush"})
    case_run = make_run(suite, server).case_runs.get()
    assert case_run.outcome == "error"
    assert "is not a valid agent name" in case_run.error
    assert "hush" not in case_run.error
    services.save_suite(suite, actor=people.alice, variables={"KEY": "hush-hush"})
    second = make_run(suite, server)
    assert "no agent" in second.case_runs.get().results()[0].message
    assert (
        "hush" not in stored(second) + client.get(second.case_runs.get().get_absolute_url()).content.decode()
    )


def test_what_a_server_says_of_itself_is_stored_without_its_key(people, monkeypatch):
    key = "Bearer sk-very-secret"

    class LeakyTransport(Scripted):
        def get(self, path, deadline):
            if path == "/healthz":
                return {"status": "ok", "versions": {"you sent": "sk-very-secret"}}
            if path == "/api/v1/list":
                return {"agents": [{"agent_name": "a", "description": key, "tags": [key]}]}
            return {"connectivity_info": [{"origin": key, "tools": [key]}]}

    transport = LeakyTransport(lambda body: None, secrets=(key, "sk-very-secret"))
    monkeypatch.setattr(actors, "transport_for", lambda server: transport)
    server = make_server(people.alice, "telling")
    assert server.version == f"you sent {HIDDEN}"
    assert server.agents[0]["tags"] == [HIDDEN]
    assert "secret" not in json.dumps([server.version, server.agents, server.graphs])


def test_the_credential_of_a_header_is_hidden_whatever_its_scheme(people, settings):
    for value in ("Bearer hush-hush", "bearer hush-hush", "Basic hush-hush", "Token  hush-hush"):
        assert inputs.header_words(value) == (value, "hush-hush")
    assert inputs.header_words("two words") == ("two words",)


@pytest.mark.parametrize("value", ["a", "abc", "a  "])
def test_what_is_too_short_to_be_hidden_is_refused_with_a_sentence(people, value):
    for headers in (True, False):
        problem = inputs.secret_problem("KEY", value, headers=headers)
        assert "at least 4 characters" in problem
        assert "abc" not in problem
    assert "at least 4" in inputs.secret_problem("Authorization", "Bearer abc", headers=True)
    assert not inputs.secret_problem("KEY", "", headers=False), "an empty value keeps what is stored"
    with pytest.raises(ValidationError, match="too short"):
        forms.read_secrets(f"KEY: {value}", headers=False)


def test_a_short_variable_of_before_is_sent_to_nobody(people, server, monkeypatch):
    suite = make_suite(people.alice, cases={"c": CASE % ""}, variables={"KEY": "long enough"})
    AgentSuite.objects.update(variables={"KEY": encrypt("abc")})
    transport = says("x")
    monkeypatch.setattr(actors, "transport_for", lambda server: transport)
    made = make_run(AgentSuite.objects.get(pk=suite.pk), server)
    assert (made.state, transport.asked) == ("failed", [])
    assert "KEY is too short" in made.job.error
    assert "abc" not in made.job.error


def test_no_judge_is_quoted_with_a_secret(people, server, monkeypatch):
    turn = "{text: q, response: {text: {gist: It greets}}}"
    suite = make_suite(
        people.alice, variables={"KEY": "hush-hush"}, cases={"c": f"agent: echo\ninteractions: [{turn}]"},
        judge=server.model, judge_agent="judge",
    )  # fmt: skip
    words = "x" * 1_995
    judge = Scripted(lambda body: said(f"fail\n{words}hush-hush"))
    monkeypatch.setattr("gym.agents.agent_adapters.transport_for", lambda server: judge)
    made = make_run(suite, server)
    assert made.case_runs.get().results()[0].checks[0].judge["verdict"] == "fail"
    assert "hus" not in stored(made)
