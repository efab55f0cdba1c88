"""Responses of chat endpoints: refusals and empty answers are results of the agent, errors are those of the
server.
"""

from __future__ import annotations

import json

import pytest

from lmgym import net
from lmgym.agents import retries
from lmgym.agents.case_reader import read_case
from lmgym.agents.driver import Options, run_case
from lmgym.agents.llm_judge import AgentJudge, VotingJudge
from lmgym.agents.retries import RetryingTransport, run_transport
from lmgym.agents.transport import ChatTransport, error_within
from tests.lmgym.agents.test_busy_servers import Clock
from tests.lmgym.net.hostile import answer, server

CASE = 'agent: m1, success_ratio: "2/2", interactions: [{{text: q, response: {{text: {{{}}}}}}}]'
HELLO = CASE.format("keywords: Hello")


def completion(content, finish_reason="stop", **message):
    said = {"role": "assistant", "content": content, **message}
    return {"choices": [{"index": 0, "message": said, "finish_reason": finish_reason}]}


def asked(*given, case=HELLO, retrying=run_transport, **headers):
    """Return the result of a case on a chat endpoint that gives these answers in turn, and how often it was asked."""
    answers = list(given)

    def behave(connection, request):
        body = answers.pop(0) if len(answers) > 1 else answers[0]
        connection.sendall(answer(json.dumps(body).encode(), Content_Type="application/json", **headers))

    with server(behave) as there:
        policy = lambda **limits: net.NetPolicy.allowing("127.0.0.1", **limits)  # noqa: E731
        transport = retrying(ChatTransport(f"{there.url}/v1", policy=policy, secrets=("hush-hush",)))
        result = run_case(read_case(case), transport, None, Options(parallel=1))
    return result, len(there.seen)


def turn_of(result):
    return result.iterations[0].turns[0]


def test_a_refusal_is_an_answer_in_its_own_words():
    refusal = completion(None, refusal="I cannot help.")
    result, _ = asked(refusal)
    assert (result.outcome, result.passed, result.n, result.errors) == ("fail", 0, 2, 0)
    turn = turn_of(result)
    assert (turn.text, turn.trouble) == ("I cannot help.", "")
    assert "The model refused" in turn.notes[0]
    assert asked(refusal, case=CASE.format("not_keywords: Hello"))[0].outcome == "pass"


@pytest.mark.parametrize("test", ["keywords: Hello", "not_keywords: Hello"])
@pytest.mark.parametrize(
    "given", [completion(None), completion([]), {"choices": [{"message": {"role": "assistant"}}]}]
)
def test_an_answer_without_text_fails_and_stays_in_the_rate(given, test):
    result, _ = asked(given, case=CASE.format(test))
    assert (result.outcome, result.n, result.errors) == ("fail", 2, 0)
    assert result.iterations[0].checks[0].comparison == "no such value in the answer"


def test_a_request_for_tools_is_no_text_and_says_so():
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    result, _ = asked(completion(None, "tool_calls", tool_calls=calls))
    assert (result.outcome, result.errors) == ("fail", 0)
    assert "requested tool calls" in turn_of(result).notes[0]


def test_after_an_answer_without_text_the_conversation_goes_on():
    two = "agent: m1, interactions: [{text: one}, {text: two, response: {text: {keywords: Hello}}}]"
    result, _ = asked(completion(None), completion("Hello"), case=two)
    assert result.outcome == "pass"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([{"type": "text", "text": "Hello "}, {"type": "text", "text": "parts"}], "Hello parts"),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "Bye?"}]}, {"text": "Hello"}], "Hello"),
        (["Hel", {"type": "output_text", "text": "lo"}, {"type": "image_url", "image_url": {}}], "Hello"),
    ],
)
def test_parts_of_an_answer_are_joined(parts, text):
    result, _ = asked(completion(parts))
    assert (result.outcome, turn_of(result).text) == ("pass", text)


def test_an_answer_that_was_cut_is_marked():
    result, _ = asked(completion("Hello, this was cut sho", "length"))
    assert result.outcome == "pass"
    assert turn_of(result).notes == (
        "The answer was cut off: the model reached its token limit (finish_reason: length).",
    )
    assert turn_of(asked(completion("Hello"))[0]).notes == ()


def test_an_error_within_an_answer_shows_the_servers_message_without_secrets():
    result, _ = asked({"error": {"message": "no model m1 for hush-hush", "type": "invalid_request_error"}})
    assert (result.outcome, result.errors) == ("error", 2)
    assert turn_of(result).error == "The server reported an error: no model m1 for •••"


@pytest.mark.parametrize("code", [503, "429", "rate_limit_exceeded"])
def test_an_error_within_an_answer_that_means_busy_is_waited_for(monkeypatch, code):
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.05)
    overloaded = {"error": {"message": "model overloaded", "type": "server_error", "code": code}}
    result, requests = asked(overloaded, completion("Hello"))
    assert (result.outcome, requests) == ("pass", 3)
    assert turn_of(result).waited > 0
    monkeypatch.setattr(retries, "MAX_WAIT", 0.01)
    error = turn_of(asked(overloaded)[0]).error
    assert error.startswith("The server is busy. ")
    assert error.endswith("The server reported an error: model overloaded")


def test_a_busy_server_is_asked_no_earlier_than_its_answer_says():
    clock = Clock()
    result, _ = asked(
        {"error": {"code": 503}},
        completion("Hello"),
        retrying=lambda transport: RetryingTransport(transport, clock=clock, sleep=clock.sleep),
        Retry_After="7",
    )
    assert (result.outcome, clock.now) == ("pass", pytest.approx(1007))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"error": "no"}, ("no", 0)),
        ({"error": {"message": "no", "code": 400}}, ("no", 400)),
        ({"error": {"type": "overloaded_error"}}, ('{"type": "overloaded_error"}', 503)),
        ({"object": "error", "message": "no", "code": 404}, ("no", 404)),
        ({"choices": [{"error": {"message": "gone", "code": 502}, "finish_reason": "error"}]}, ("gone", 502)),
        ({"error": None, "choices": []}, None), ({"choices": [None]}, None), ([], None), (None, None),
    ],
)  # fmt: skip
def test_errors_are_found_where_servers_put_them(given, told):
    assert error_within(given) == told


@pytest.mark.parametrize("given", [{"choices": []}, {"choices": [{"message": {"content": 3}}]}, [], None])
def test_what_is_no_completion_is_an_error(given):
    result, _ = asked(given)
    assert (result.outcome, turn_of(result).trouble) == ("error", "protocol")


def test_a_judge_that_refuses_gives_no_verdict():
    with server(answer(json.dumps(completion(None, refusal="I cannot judge.")).encode())) as there:
        policy = lambda **limits: net.NetPolicy.allowing("127.0.0.1", **limits)  # noqa: E731
        opinion = VotingJudge(AgentJudge(ChatTransport(there.url, policy=policy), "m1")).judge("c", "s")
    assert (opinion.verdict, opinion.raw) == ("error", "I cannot judge.")
