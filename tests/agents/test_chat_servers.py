"""Chat endpoints as agents, over real sockets."""

from __future__ import annotations

import json

import pytest

from tests.agents.site import make_run, make_server, make_suite
from tests.lmgym.net.hostile import answer, server

TWO_TURNS = """agent: any
timeout_in_seconds: 60
interactions: [
  {text: "my name is Ann", response: {text: {not_value: ""}}}
  {text: "what is my name", response: {text: {keywords: Ann}}}
]
"""


def completion(connection, request):
    """Serve a chat endpoint that lists one model and recognises Ann if the conversation contains her name."""
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
