"""Causal models and chat endpoints as agents, and a model as judge by surprisal: the demo GPT-2 and real sockets."""

from __future__ import annotations

import json
import shutil
import time

import pytest

from gym.agents import agent_adapters
from gym.demo.loader import MODELS_DIR
from lmgym.agents.transport import Deadline
from tests.agents.site import make_run, make_server, make_suite
from tests.factories import checked, make_model
from tests.lmgym.net.hostile import answer, server

TWO_TURNS = """agent: any
timeout_in_seconds: 60
interactions: [
  {text: "my name is Ann", response: {text: {not_value: ""}}}
  {text: "what is my name", response: {text: {keywords: Ann}}}
]
"""


def soon() -> Deadline:
    return Deadline(time.monotonic() + 30)


@pytest.fixture
def gpt2(people, settings, tmp_path):
    settings.GYM_MODEL_DIR = tmp_path
    shutil.copytree(MODELS_DIR / "demo-gpt2", tmp_path / "demo-gpt2")
    config = {"source": "directory", "path": "demo-gpt2", "device": "cpu"}
    model = make_model(people.alice, slug="demo-gpt2", backend="causal", config=config, visibility="public")
    return checked(model)


def test_a_causal_model_answers_as_an_agent(people, gpt2):
    agent = make_server(people.alice, "wrapped", kind="model", wraps=gpt2)
    assert [row["agent_name"] for row in agent.agents] == ["demo-gpt2"]
    case = 'agent: demo-gpt2, success_ratio: 2/2, interactions: [{text: "the dog", response: {text: {not_value: "~"}}}]'
    run = make_run(make_suite(people.alice, cases={"talk": case}), agent)
    case_run = run.case_runs.get()
    assert (case_run.outcome, case_run.error) == ("pass", "")
    said = [result.turns[0].text for result in case_run.results()]
    assert said[0]
    assert said[0] == said[1], "the likeliest continuation is always the same"
    assert case_run.tokens


def test_a_continuation_keeps_to_the_models_context(gpt2):
    say = agent_adapters.continuing(gpt2)
    text, read, written = say("the dog " * 3000, 30.0)
    assert "\n" not in text
    assert 0 < read + written <= gpt2.facts["context_length"]


def test_no_time_left_means_no_tokens(gpt2):
    assert agent_adapters.continuing(gpt2)("the dog", -1.0)[2] == 0


def test_surprisals_of_a_causal_model_judge(people, gpt2):
    suite = make_suite(
        people.alice,
        cases={"gist": "agent: echo, interactions: [{text: hello, response: {text: {gist: greets}}}]"},
        judge=gpt2,
    )
    run = make_run(suite, make_server(people.alice))
    [check] = run.case_runs.get().results()[0].checks
    assert check.outcome in ("pass", "fail"), check
    passing, failing = agent_adapters.bits_of(gpt2)("The dog sleeps.", [" pass", " fail"], soon())
    assert passing is not None
    assert failing is not None
    assert passing > 0
    assert agent_adapters.bits_of(gpt2)("The dog sleeps.", [" fail"], soon()) == [
        pytest.approx(failing, abs=1e-3)
    ]


def completion(connection, request):
    """A chat server: knows its model, and Ann if it was told."""
    head, _, body = request.partition(b"\r\n\r\n")
    if head.startswith(b"GET /v1/models"):
        given = {"object": "list", "data": [{"id": "tiny"}]}
    else:
        asked = json.loads(body)
        said = [(m["role"], m["content"]) for m in asked["messages"]]
        text = "You are Ann." if ("user", "my name is Ann") in said[:-1] else "Hello."
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        given = {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}
    connection.sendall(answer(json.dumps(given).encode(), Content_Type="application/json"))


@pytest.fixture
def chat(people, settings):
    with server(completion) as there:
        settings.GYM_NET_ALLOW = [there.url.removeprefix("http://")]
        agent = make_server(
            people.alice, "chat", kind="chat", url=f"{there.url}/v1", chat_model="tiny",
            secret_headers={"Authorization": "Bearer sk-very-secret"},
        )  # fmt: skip
        yield agent, there


def test_a_chat_endpoint_answers_as_an_agent_and_is_told_what_was_said(people, chat):
    agent, there = chat
    assert [row["agent_name"] for row in agent.agents] == ["tiny"]
    run = make_run(make_suite(people.alice, cases={"name": TWO_TURNS}), agent)
    case_run = run.case_runs.get()
    assert (case_run.outcome, case_run.tokens["total_tokens"]) == ("pass", 10)
    posts = [request for request in there.seen if request.startswith(b"POST /v1/chat/completions ")]
    assert len(posts) == 2
    assert all(b"sk-very-secret" in request for request in posts)
    asked = json.loads(posts[1].partition(b"\r\n\r\n")[2])
    assert asked["model"] == "tiny"
    assert [m["role"] for m in asked["messages"]] == ["user", "assistant", "user"]
    assert "sk-very-secret" not in json.dumps([result.as_dict() for result in case_run.results()])


@pytest.mark.parametrize(
    "body",
    [b'{"choices": []}', b'{"choices": [{"message": null}]}', b"[]", b"null", b"<html>"],
)
def test_an_answer_that_is_no_completion_is_an_error_with_a_name(people, chat, settings, body):
    agent, _ = chat
    with server(answer(body)) as broken:
        settings.GYM_NET_ALLOW = [broken.url.removeprefix("http://")]
        agent.url = f"{broken.url}/v1"
        agent.save()
        run = make_run(make_suite(people.alice, cases={"name": TWO_TURNS}), agent)
    [result] = run.case_runs.get().results()
    assert result.outcome == "error"
    assert result.turns[0].trouble in ("protocol", "encoding"), result.turns[0]
