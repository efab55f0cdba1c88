"""What a stream of JSON lines means: the rules of the reference's client."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.conversations import protocol
from gym.conversations.protocol import AnswerReader, ProtocolError


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
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused_by_name(line):
    with pytest.raises(ProtocolError):
        read(line, size=100_000)


def test_long_lines_and_long_answers_are_refused(monkeypatch):
    monkeypatch.setattr(protocol, "MAX_LINE", 100)
    with pytest.raises(ProtocolError, match="line"):
        read(b'{"x": "' + b"a" * 200)
    monkeypatch.setattr(protocol, "MAX_BYTES", 100)
    with pytest.raises(ProtocolError, match="bytes"):
        read(*[b"{}"] * 60)


@given(st.binary(max_size=200) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_an_answer_or_refused(data):
    try:
        read(data)
    except ProtocolError as error:
        assert str(error)
