"""Reading the answer from a stream of JSON lines, by the rules of the reference's client."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.agents import protocol
from lmgym.agents.protocol import AnswerReader, ProtocolError


def read(*lines, size: int = 7) -> protocol.Answer:
    data = b"\n".join(
        line if isinstance(line, bytes) else json.dumps({"response": line}).encode() for line in lines
    )
    reader = AnswerReader()
    for at in range(0, len(data), size):
        reader.feed(data[at : at + size])
    return reader.finish()


def framework(text=None, **more):
    return {"type": "AGENT_FRAMEWORK", "text": text, "chat_context": {"n": 1}, **more}


def test_nothing_received_is_no_answer():
    assert read(b"{}").text is None
    assert read(b"").text is None


def test_of_several_lines_the_last_answer_wins():
    answer = read(framework("one"), framework("two"), {"type": "AI", "text": "three"})
    assert answer.text == "three"


def test_retries_under_minimal_are_not_the_answer():
    answer = read(
        framework("Retrying: down", chat_context={}),
        framework("Retrying: down", chat_context={}),
        framework("ok"),
    )
    assert (answer.text, answer.retries) == ("ok", 2)


def test_a_structure_is_reset_by_a_later_text_alone():
    assert read(framework("a", structure={"x": 1})).structure == {"x": 1}
    assert read(framework("a", structure={"x": 1}), framework("b")).structure is None
    assert read(framework(None, structure={"x": 1})).text is None


def test_messages_of_other_agents_are_not_the_answer():
    origin = [{"tool": "a"}, {"tool": "b"}]
    assert read(framework("mine"), {"type": "AI", "text": "theirs", "origin": origin}).text == "mine"
    assert read({"type": "AGENT", "text": "no"}, {"type": "HUMAN", "text": "no"}).text is None


def test_private_data_count_only_with_a_context():
    assert read({"type": "AGENT_FRAMEWORK", "text": "x", "sly_data": {"a": 1}}).sly_data is None
    assert read(framework("x", sly_data={"a": 1}), framework("y")).sly_data == {"a": 1}


def test_tokens_come_from_the_last_account():
    counts = [
        {"type": "AGENT", "structure": {"total_tokens": n, "total_cost": 0.5, "caveats": ["x"]}}
        for n in (3, 9)
    ]
    nested = {"type": "AGENT", "origin": [{}, {}], "structure": {"total_tokens": 99}}
    assert read(*counts, nested, framework("x")).tokens == {"total_tokens": 9, "total_cost": 0.5}


def test_numbers_for_types_and_unknown_types_are_taken():
    assert read({"type": 101, "text": "x", "chat_context": {}}).text == "x"
    assert read({"type": 4711, "text": "x"}, framework("y")).text == "y"


def test_keep_alive_frames_and_progress_are_no_messages():
    assert read({"type": "AGENT_PROGRESS", "text": ""}, framework("x")).messages == [
        {"type": "AGENT_FRAMEWORK", "origin": [], "text": "x"}
    ]


def test_the_echo_of_the_request_is_not_kept():
    line = json.dumps({"response": framework("x"), "request": {"sly_data": {"key": "hush"}}}).encode()
    assert "hush" not in repr(read(line).messages)


def test_several_values_may_share_a_line():
    line = json.dumps({"response": framework("a")}) + json.dumps({"response": framework("b")})
    assert read(line.encode()).text == "b"


def test_an_error_after_the_head_is_an_error():
    assert read(framework("half"), b'{"error": "Request timeout"}').error == "Request timeout"


def test_line_separators_within_text_do_not_split_it():
    assert read(framework("a\u2028b\x0b\x85c")).text == "a\u2028b\x0b\x85c"


@pytest.mark.parametrize(
    "line",
    [
        b"{", b"nonsense", b"[1]", b"3", b"\xff{}", b'{"response": [1]}', b'{"response": {"text": 3}}',
        b'{"response": {"type": "AI", "structure": NaN}}', b'{"a": ' * 5000 + b"1" + b"}" * 5000,
        b'{"response": {"structure": ' + b"[" * 150 + b"]" * 150 + b"}}", b'{"n": ' + b"9" * 5000 + b"}",
        b'{"response": {"structure": {"k": 1e400}}}', b'{"response": {"structure": {"k": [-1e999]}}}',
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused_by_name(line):
    with pytest.raises(ProtocolError):
        read(line, size=100_000)


def test_a_page_instead_of_an_answer_is_said_to_be_none():
    with pytest.raises(ProtocolError) as raised:
        AnswerReader().feed(b"<html><title>Sign in</title>\n")
    assert str(raised.value) == "The answer is not JSON. It begins with: <html><title>Sign in</title>"


def test_long_lines_and_long_answers_are_refused(monkeypatch):
    monkeypatch.setattr(protocol, "MAX_LINE", 100)
    with pytest.raises(ProtocolError, match="line"):
        read(b'{"x": "' + b"a" * 200)
    monkeypatch.setattr(protocol, "MAX_BYTES", 100)
    with pytest.raises(ProtocolError, match="bytes"):
        read(*[b"{}"] * 60)


@pytest.mark.parametrize("told", ["9" * 401, "-1", "1e300", "true", '"7"', "null", "[7]", "1e16"])
def test_what_can_be_no_amount_is_not_counted(told):
    line = '{"response": {"type": "AGENT", "structure": {"total_tokens": 3, "total_cost": TOLD}}}'.replace(
        "TOLD", told
    )
    assert read(line.encode(), framework("x"), size=1000).tokens == {"total_tokens": 3}


@pytest.mark.parametrize("origin", [5, "a", {"tool": "a"}, [5], [{"tool": ["a"]}], True])
def test_an_odd_origin_breaks_nothing(origin):
    assert read(framework("x", origin=origin)).messages[0]["text"] == "x"


def test_messages_beyond_the_limit_are_counted(monkeypatch):
    monkeypatch.setattr(protocol, "MAX_MESSAGES", 2)
    answer = read(*[framework(str(n)) for n in range(5)])
    assert ([message["text"] for message in answer.messages], answer.left_out, answer.text) == (
        ["0", "1"],
        3,
        "4",
    )


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["type", "text", "origin", "structure", "chat_context", "sly_data", "response", "error", "total_tokens",
     "total_cost", "tool", "details"]
)  # fmt: skip
KINDS = st.sampled_from(["AI", "AGENT", "AGENT_FRAMEWORK", 4, 100, 101])
MESSAGES = st.dictionaries(KEYS, VALUES, max_size=6).flatmap(
    lambda message: KINDS.map(lambda kind: {"response": {**message, "type": kind}})
)
HUGE = st.sampled_from(["1e400", "-1e999", "9" * 401, "NaN", "Infinity", "-0.0", "1E+308"])


def look(data: bytes) -> None:
    """Check that an answer can be stored as JSON, without NaN or infinite numbers."""
    try:
        answer = read(data, size=64)
    except ProtocolError as error:
        assert str(error)
    else:
        json.dumps(answer.__dict__, allow_nan=False)
        assert answer.agent_error("a") is not None
        amounts = (answer.tokens or {}).values()
        assert all(0 <= amount <= 1e15 for amount in amounts)


@given(st.lists(MESSAGES, max_size=4), HUGE)
def test_any_messages_are_an_answer_that_can_be_stored_or_refused(messages, huge):
    lines = [json.dumps(message) for message in messages]
    look("\n".join(lines).encode())
    look("\n".join(line.replace("1", huge, 1) for line in lines).encode())


@given(st.binary(max_size=200) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_an_answer_or_refused(data):
    look(data)
