"""Every row of the table of keys: by the document and by the code of neuro-san 0.7.15."""

from __future__ import annotations

import time

import pytest

from lmgym.agents.case_reader import read_case
from lmgym.agents.demo_server import DemoTransport
from lmgym.agents.transport import TransportError
from tests.lmgym.agents.helpers import Scripted, findings, refused, run, said, says

ASK = "interactions: [{text: q, response: {text: {keywords: ok}}}]"
BOTH = ["document", "reference-compatible"]


# --- agent ---


@pytest.mark.parametrize(
    "text", ["x: 1", "agent: null", 'agent: ""', "agent: [a]", "agent: 3", "agent: a/../b", "agent: /a"]
)
def test_an_agent_is_needed(text):
    assert "agent" in refused(f"{text}\n{ASK}")


def test_an_agent_may_have_slashes_in_its_name():
    transport = says("ok")
    assert run(f"agent: basic/music_nerd_pro\n{ASK}", transport).outcome == "pass"
    assert transport.asked[0][0] == "basic/music_nerd_pro"


def test_agents_in_files_are_noted():
    assert findings(f"agent: deep/a.hocon\n{ASK}")["agent-file"].severity == "warning"


# --- connections ---


def test_the_default_connection_is_direct_and_goes_to_the_server():
    assert read_case(f"agent: a\n{ASK}").connections == ("direct",)
    assert "connection-direct" in findings(f"agent: a, connections: direct\n{ASK}")
    assert run(f"agent: a, connections: direct\n{ASK}", says("ok")).outcome == "pass"


@pytest.mark.parametrize("reading", BOTH)
def test_all_connections_are_tried_within_one_iteration_each_anew(reading):
    transport = says("ok")
    turns = "[{text: one}, {text: two, response: {text: {keywords: ok}}}]"
    case = f"agent: a, connections: [http, https], interactions: {turns}"
    result = run(case, transport, reading)
    assert (result.outcome, result.n, result.checks_made) == ("pass", 1, 2)
    assert [("chat_context" in body) for _, body, _ in transport.asked] == [False, True, False, True]


def test_an_iteration_succeeds_only_if_every_connection_does():
    answers = iter(["ok", "no"])
    result = run(f"agent: a, connections: [http, http]\n{ASK}", Scripted(lambda body: said(next(answers))))
    assert [check.outcome for check in result.iterations[0].checks] == ["pass", "fail"]
    assert result.outcome == "fail"


@pytest.mark.parametrize("reading", BOTH)
def test_without_connections_every_iteration_fails(reading):
    result = run(f"agent: a, connections: [], success_ratio: 1/2\n{ASK}", says("ok"), reading)
    assert (result.outcome, result.counts) == ("fail", {"fail": 2})
    assert "no-connections" in findings(f"agent: a, connections: []\n{ASK}")


def test_unknown_connections_are_named():
    assert "Unknown connection 'ftp'" in refused(f"agent: a, connections: [ftp]\n{ASK}")
    assert "Did you mean https?" in refused(f"agent: a, connections: htps\n{ASK}")
    assert "text" in refused(f"agent: a, connections: 3\n{ASK}")


@pytest.mark.parametrize("name", ["grpc", "service", "mcp"])
def test_grpc_and_mcp_are_refused_clearly(name):
    text = f"agent: a, connections: {name}\n{ASK}"
    assert "not supported" in findings(text)["connection-unsupported"].message
    transport = says("ok")
    result = run(text, transport)
    assert (result.outcome, transport.asked) == ("error", [])
    assert "not supported; use http" in result.iterations[0].checks[0].message


# --- success_ratio ---

RATIOS = [
    ("2/4", 2, 4), (" 1 / 2 ", 1, 2), ("1/2/3", 1, 3), ("3/2", 2, 2), ("1/0", 1, 1), ("+1/2", 1, 2), ("0/2", 0, 2),
    ("0/0", 0, 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "needed", "iterations"), RATIOS)
def test_ratios(text, needed, iterations):
    ratio = read_case(f'agent: a, success_ratio: "{text}"\n{ASK}').ratio
    assert (ratio.needed, ratio.iterations) == (needed, iterations)


def test_the_default_ratio_is_one_of_one():
    ratio = read_case(f"agent: a\n{ASK}").ratio
    assert (ratio.needed, ratio.iterations) == (1, 1)


@pytest.mark.parametrize(
    "text", ['"3"', "3", '"1.5/2"', "[1, 2]", '"a/b"', '"1/5000"', '"-1/2"', "0.5", "true", '"/"']
)
def test_what_is_no_ratio_is_refused(text):
    assert "success_ratio" in refused(f"agent: a, success_ratio: {text}\n{ASK}")


def test_an_unquoted_ratio_is_text_as_well():
    assert read_case(f"agent: a, success_ratio: 2/3\n{ASK}").ratio.iterations == 3


@pytest.mark.parametrize(("reading", "outcome"), [("document", "pass"), ("reference-compatible", "fail")])
def test_zero_needed(reading, outcome):
    """By the document, 0 of 2 is enough; 0.7.15 requires one success."""
    assert run(f"agent: a, success_ratio: 0/2\n{ASK}", says("no"), reading).outcome == outcome
    assert run(f"agent: a, success_ratio: 0/2\n{ASK}", says("ok"), reading).outcome == "pass"


def test_all_iterations_are_made_unless_asked_otherwise():
    text = f"agent: a, success_ratio: 1/6\n{ASK}"
    assert run(text, says("ok")).n == 6
    assert run(text, says("no")).n == 6


@pytest.mark.parametrize(("reading", "unsatisfiable"), [("document", 5), ("reference-compatible", 6)])
def test_early_stop_on_success_and_by_the_document_on_certain_failure_as_well(reading, unsatisfiable):
    text = f"agent: a, success_ratio: 2/6\n{ASK}"
    enough = run(text, says("ok"), reading, early_stop=True, parallel=1)
    assert (enough.outcome, enough.n) == ("pass", 2)
    failed = run(text, says("no"), reading, early_stop=True, parallel=1)
    assert (failed.outcome, failed.n) == ("fail", unsatisfiable)


@pytest.mark.parametrize("reading", BOTH)
def test_where_nothing_is_needed_only_a_success_stops_early(reading):
    answers = iter(["no", "no", "ok"])
    text = f"agent: a, success_ratio: 0/6\n{ASK}"
    made = run(text, Scripted(lambda body: said(next(answers))), reading, early_stop=True, parallel=1)
    assert (made.outcome, made.n) == ("pass", 3)


def test_iterations_run_side_by_side_up_to_the_limit():
    running, most = [0], [0]

    def answer(body):
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.05)
        running[0] -= 1
        return said("ok")

    assert run(f"agent: a, success_ratio: 8/8\n{ASK}", Scripted(answer), parallel=3).passed == 8
    assert most[0] == 3


# --- use_direct, failure_patterns, unknown keys ---


def test_use_direct_is_true_or_false_and_means_nothing_here():
    assert read_case(f"agent: a, use_direct: true\n{ASK}").use_direct is True
    assert "use-direct" in findings(f"agent: a, use_direct: true\n{ASK}")
    assert "true or false" in refused(f'agent: a, use_direct: "yes"\n{ASK}')


@pytest.mark.parametrize(("word", "value"), [("True", True), ("FALSE", False), ("tRUE", True)])
def test_true_and_false_may_be_written_in_capital_letters_and_that_is_noted(word, value):
    text = f"agent: a\nuse_direct: {word}\ninteractions: [{{text: q, continue_conversation: {word}}}]"
    case = read_case(text)
    assert (case.use_direct, case.interactions[0].continues) == (value, value)
    first, second = (one for one in case.findings if one.code == "spelling")
    assert (first.severity, first.where, first.line, first.column) == ("info", "use_direct", 2, 13)
    assert "HOCON specification reads it as text" in first.message
    assert second.where == "interactions[0].continue_conversation"


def test_keys_that_are_not_read_are_named():
    assert "failure-patterns" in findings(f"agent: a, failure_patterns: [x]\n{ASK}")
    assert (
        "Did you mean success_ratio?" in findings(f"agent: a, succes_ratio: 1/1\n{ASK}")["unknown-key"].hint
    )


# --- metadata ---


def test_by_the_document_no_metadata_is_sent_by_default_by_the_code_a_user():
    for reading, headers in (("document", {}), ("reference-compatible", {"user_id": "lm-gym"})):
        transport = says("ok")
        run(f"agent: a\n{ASK}", transport, reading)
        assert transport.asked[0][2] == headers


@pytest.mark.parametrize("reading", BOTH)
def test_metadata_become_headers_and_null_is_dropped(reading):
    transport = says("ok")
    run(f"agent: a, metadata: {{user_id: joe, x: null, request_id: r-1}}\n{ASK}", transport, reading)
    assert transport.asked[0][2] == {"user_id": "joe", "request_id": "r-1"}


def test_numbers_in_metadata_are_sent_as_text_and_break_the_reference():
    text = f"agent: a, metadata: {{user_id: 5}}\n{ASK}"
    transport = says("ok")
    assert run(text, transport).outcome == "pass"
    assert transport.asked[0][2] == {"user_id": "5"}
    assert run(text, says("ok"), "reference-compatible").outcome == "error"
    assert findings(text)["metadata"].severity == "warning"


@pytest.mark.parametrize(
    "text",
    ['{"a b": x}', "{host: x}", '{"Content-Length": "3"}', '{a: "x\\ny"}', "{a: [1]}", '{a: "é"}', "x"],
)
def test_what_cannot_be_a_header_is_refused(text):
    assert "metadata" in refused(f"agent: a, metadata: {text}\n{ASK}")


# --- timeouts ---


def test_an_interaction_that_takes_too_long_is_given_up_while_it_is_under_way():
    started = time.monotonic()
    text = "agent: echo, interactions: [{text: SLEEP(5), timeout_in_seconds: 0.2, response: {text: {keywords: e}}}]"
    for reading in BOTH:
        result = run(text, DemoTransport(), reading)
        assert (result.outcome, result.counts) == ("timeout", {"timeout": 1})
        assert result.iterations[0].checks[0].outcome == "timeout"
    assert time.monotonic() - started < 2


def test_the_tests_time_is_for_all_iterations_by_the_document_and_for_each_by_the_code():
    text = (
        "agent: echo, success_ratio: 4/4, timeout_in_seconds: 0.25, "
        "interactions: [{text: SLEEP(0.1), response: {text: {keywords: echo}}}]"
    )
    together = run(text, DemoTransport(), parallel=1)
    assert (together.outcome, together.passed) == ("timeout", 2)
    assert together.counts == {"pass": 2, "timeout": 1, "skipped": 1}
    each = run(text, DemoTransport(), "reference-compatible", parallel=1)
    assert (each.outcome, each.passed) == ("pass", 4)


@pytest.mark.parametrize("reading", BOTH)
@pytest.mark.parametrize("seconds", ["0", "-1"])
def test_without_any_time_everything_times_out_at_once(reading, seconds):
    transport = says("ok")
    text = f"agent: a, timeout_in_seconds: {seconds}\n{ASK}"
    assert "timeout" in {finding.code for finding in read_case(text).findings}
    result = run(text, transport, reading)
    assert (result.outcome, transport.asked) == ("timeout", [])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5 seconds", 5.0), ("5s", 5.0), ("250ms", 0.25), ("2m", 120.0), ("1.5 hours", 5400.0)],
)
def test_durations_are_understood_and_noted(text, seconds):
    case = read_case(f"agent: a, timeout_in_seconds: {text}\n{ASK}")
    assert case.timeout == pytest.approx(seconds)
    assert "duration" in {finding.code for finding in case.findings}


@pytest.mark.parametrize("text", ["soon", "true", "[1]", "5 parsecs", '"1e99 s"', "99999999999"])
def test_what_is_no_time_is_refused(text):
    assert "timeout_in_seconds" in refused(f"agent: a, timeout_in_seconds: {text}\n{ASK}")


# --- interactions ---


@pytest.mark.parametrize("reading", BOTH)
@pytest.mark.parametrize("text", ["agent: a", "agent: a, interactions: []"])
def test_without_interactions_every_iteration_fails(reading, text):
    assert run(text, says("ok"), reading).outcome == "fail"
    assert "no-interactions" in findings(text)


@pytest.mark.parametrize(
    "text", ["3", "{text: x}", "[3]", "[null]", '[{text: ["x"]}]', "[{response: []}]", "[{sly_data: 3}]"]
)
def test_what_is_no_interaction_is_refused(text):
    assert "interactions" in refused(f"agent: a, interactions: {text}")


@pytest.mark.parametrize("reading", BOTH)
def test_no_text_sends_null_and_an_empty_answer_fails_every_check(reading):
    transport = Scripted(lambda body: {})
    result = run("agent: a, interactions: [{response: {text: {not_keywords: x}}}]", transport, reading)
    assert transport.asked[0][1]["user_message"]["text"] is None
    assert (result.outcome, result.iterations[0].checks[0].actual) == ("fail", None)


def test_private_data_are_sent_only_when_there_are_some():
    transport = says("ok")
    run(
        "agent: a, interactions: [{text: q, sly_data: {x: 1}}, {text: q, sly_data: {}}, {text: q}]", transport
    )
    assert [body.get("sly_data") for _, body, _ in transport.asked] == [{"x": 1}, None, None]


def test_only_the_code_carries_private_data_over():
    text = "agent: a, interactions: [{text: q, sly_data: {x: 1}}, {text: q}, {text: q, sly_data: {y: 2}}, {text: q}]"
    sent = {}
    for reading in BOTH:
        transport = says("ok", sly_data={"equals": 3})
        run(text, transport, reading)
        sent[reading] = [body.get("sly_data") for _, body, _ in transport.asked]
    assert sent["document"] == [{"x": 1}, None, {"y": 2}, None]
    assert sent["reference-compatible"] == [{"x": 1}, {"x": 1, "equals": 3}, {"y": 2}, {"y": 2, "equals": 3}]


def test_by_the_code_a_new_conversation_keeps_private_data_as_they_were_sent():
    transport = says("ok", sly_data={"equals": 3})
    text = "agent: a, interactions: [{text: q, sly_data: {x: 1}, continue_conversation: false}, {text: q}]"
    run(text, transport, "reference-compatible")
    assert [body.get("sly_data") for _, body, _ in transport.asked] == [{"x": 1}, {"x": 1}]


def test_filters():
    text = "agent: a, interactions: [{text: q}, {text: q, chat_filter: MAXIMAL}, {text: q, chat_filter: odd}]"
    kinds = {}
    for reading in BOTH:
        transport = says("ok")
        run(text, transport, reading)
        kinds[reading] = [body["chat_filter"]["chat_filter_type"] for _, body, _ in transport.asked]
    assert kinds == {"document": ["MAXIMAL"] * 3, "reference-compatible": ["MINIMAL", "MAXIMAL", "odd"]}
    assert "MINIMAL" in findings(text)["chat-filter"].message


@pytest.mark.parametrize(
    ("chosen", "everything"),
    [
        ("MAXIMAL", 1), ("maximal", 1), ("Maximal", 1), ("MINIMAL", 0), ("minimal", 0), ("UNKNOWN", 0), ("odd", 0),
        ('""', 0),
    ],
)  # fmt: skip
def test_filters_mean_the_same_in_any_case_and_what_is_none_is_minimal(chosen, everything):
    """The messages reveal the filter: under MAXIMAL the server also sends SYSTEM and HUMAN messages."""
    text = f"agent: echo, interactions: [{{text: hi, chat_filter: {chosen}, response: {{text: {{keywords: hi}}}}}}]"
    result = run(text, DemoTransport(), "reference-compatible")
    kinds = {message["type"] for message in result.iterations[0].turns[0].messages}
    assert result.outcome == "pass"
    assert kinds >= {"SYSTEM", "HUMAN"} if everything else kinds == {"AGENT_FRAMEWORK"}


@pytest.mark.parametrize("reading", BOTH)
def test_continuing_is_about_the_next_turn(reading):
    text = "agent: a, interactions: [{text: q%s}, {text: q%s}, {text: q}]"
    no = ", continue_conversation: false"
    for first, second, carried in (
        ("", "", [0, 1, 1]),
        (no, "", [0, 0, 1]),
        ("", no, [0, 1, 0]),
        (no, no, [0, 0, 0]),
    ):
        transport = says("ok")
        run(text % (first, second), transport, reading)
        assert [int("chat_context" in body) for _, body, _ in transport.asked] == carried
    assert "true or false" in refused("agent: a, interactions: [{text: q, continue_conversation: 1}]")


def test_the_context_is_sent_back_as_it_came():
    context = {"chat_histories": [{"messages": [{"text": '{{"a": 1}}'}]}], "unknown": [1]}
    transport = says("ok", chat_context=context)
    run("agent: a, interactions: [{text: q}, {text: q}]", transport)
    assert transport.asked[1][1]["chat_context"] == context


@pytest.mark.parametrize("reading", BOTH)
def test_without_response_the_conversation_just_goes_on(reading):
    result = run("agent: a, interactions: [{text: q}, {text: q, response: {}}]", says("ok"), reading)
    assert (result.outcome, result.checks_made) == ("pass", 0)
    assert "no-checks" in findings("agent: a, interactions: [{text: q}]")


def test_a_failed_check_stops_nothing_a_missing_answer_ends_the_iteration():
    answers = iter([said("no"), TransportError("unreachable", "It hung up."), said("ok")])
    text = f"agent: a, {ASK}"
    turn = "{text: q, response: {text: {keywords: ok}}}"
    result = run(f"agent: a, interactions: [{turn}, {turn}, {turn}]", Scripted(lambda body: next(answers)))
    assert [check.outcome for check in result.iterations[0].checks] == ["fail", "error", "skipped"]
    assert result.outcome == "fail"
    assert text
