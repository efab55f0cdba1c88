"""Stored transcripts, and scoring them again without calling the agent."""

from __future__ import annotations

import json
from dataclasses import replace

from lmgym.agents import redact
from lmgym.agents.case_reader import read_case
from lmgym.agents.driver import Options, run_case, run_iterations
from lmgym.agents.redact import HIDDEN, hides, redactor
from lmgym.agents.results import IterationResult
from lmgym.agents.scoring import rescore
from lmgym.agents.transport import ChatTransport
from lmgym.net import Response
from tests.lmgym.agents.helpers import Scripted, outcomes, run, said, says


def chat_endpoint():
    class Chat(ChatTransport):
        def _answer(self, method, path, deadline, **more):
            return Response(200, {}, b'{"choices": [{"message": {"content": "x"}}]}')

    return Chat("https://chat.example", "m", policy=lambda **limits: None)


CASE = "agent: a, interactions: [{text: q, sly_data: {key: k}, response: {sly_data: {a: {b: {value: 1}}}}}]"


def test_results_survive_json():
    result = run(CASE, says("x", sly_data={"a": {"b": 1}, "c": "private"}))
    there = IterationResult.from_dict(json.loads(json.dumps(result.iterations[0].as_dict())))
    assert there == result.iterations[0]


def test_private_data_are_kept_only_where_they_are_tested():
    result = run(CASE, says("x", sly_data={"a": {"b": 1, "d": "private"}, "c": {"e": "private"}}))
    assert result.outcome == "pass"
    assert result.iterations[0].turns[0].sly_data == {"a": {"b": 1, "d": HIDDEN}, "c": HIDDEN}
    assert "private" not in json.dumps(result.as_dict())


def test_a_test_on_the_whole_keeps_the_whole():
    case = read_case("agent: a, interactions: [{text: q, response: {sly_data: {value: [{a: 1}]}}}]")
    assert redact.tested_only({"a": 1}, case, 0) == {"a": 1}
    assert redact.tested_only(None, case, 0) is None


def test_variables_of_the_user_are_seen_nowhere():
    turn = "{text: q, sly_data: {key: ${KEY}}, response: {text: {keywords: ${KEY}}}}"
    case = read_case(f"agent: a, interactions: [{turn}]", {"KEY": "hush-hush"})
    transport = Scripted(
        lambda body: said(f"your key is {body['sly_data']['key']}", structure={"hush-hush": 1})
    )
    result = run_case(case, transport, None, Options(secrets=("hush-hush",)))
    assert result.outcome == "pass"
    assert transport.asked[0][1]["sly_data"] == {"key": "hush-hush"}
    assert "hush" not in json.dumps(result.as_dict())


def test_what_databases_refuse_is_replaced():
    assert redactor([])({"a\0": ["b\ud800", 1, None]}) == {"a\ufffd": ["b\ufffd", 1, None]}
    assert redactor(["ab"])("ab") == "ab"


def test_answers_are_scored_again_by_the_case_as_it_is_now():
    before = run(CASE, says("The Beatles", sly_data={"a": {"b": 1}, "c": 2})).iterations[0]
    changed = read_case(
        "agent: a, interactions: [{text: q, response: {text: {keywords: [Beatles, Stones]}, sly_data: {"
        "a: {b: {value: 1}}, c: {value: 2}, keywords: c, not_keywords: d}}}]"
    )
    after = rescore(changed, before, None, "document", redactor([]))
    by_place = {(check.where, check.element): check.outcome for check in after.checks}
    assert by_place == {
        ("response.text.keywords", 0): "pass",
        ("response.text.keywords", 1): "fail",
        ("response.sly_data.a.b.value", None): "pass",
        ("response.sly_data.c.value", None): "error",
        ("response.sly_data.keywords", None): "pass",
        ("response.sly_data.not_keywords", None): "pass",
    }
    hidden = next(check for check in after.checks if check.outcome == "error")
    assert "Run the case again" in hidden.message
    assert (after.outcome, after.turns) == (
        "fail",
        tuple(replace(turn, reused=True) for turn in before.turns),
    )


def test_turns_that_were_never_made_stay_so():
    before = run(CASE, says("x", sly_data={"a": {"b": 1}})).iterations[0]
    longer = read_case("agent: a, interactions: [{text: q}, {text: q, response: {text: {keywords: x}}}]")
    assert outcomes(rescore(longer, before, None, "document", redactor([]))) == ["skipped"]


def test_hidden_parts_are_found_at_any_depth():
    assert hides({"a": [1, {"b": HIDDEN}]})
    assert not hides({"a": [1, {"b": HIDDEN + "x"}]})


def test_a_run_goes_on_where_it_was_interrupted():
    case = read_case(
        "agent: a, success_ratio: 2/5, interactions: [{text: q, response: {text: {keywords: ok}}}]"
    )
    options = Options(parallel=1, early_stop=True)
    first = next(iter(run_iterations(case, says("ok"), None, options, numbers=range(1, 6))))
    rest = list(run_iterations(case, says("ok"), None, options, numbers=range(2, 6), before=[first]))
    assert [result.number for result in (first, *rest)] == [1, 2]


def test_stopping_ends_the_run_at_once_and_says_so():
    stopped = []
    case = read_case(
        "agent: a, success_ratio: 1/9, interactions: [{text: q, response: {text: {keywords: ok}}}]"
    )

    def stop():
        return len(stopped) > 0

    found = []
    for result in run_iterations(case, says("ok"), None, Options(parallel=1), numbers=range(9), stop=stop):
        found.append(result)
        stopped.append(1)
    assert len(found) == 1


def test_a_bug_of_ours_ends_one_iteration_by_name():
    class Broken(Scripted):
        def chat(self, *args):
            raise ZeroDivisionError("oops hush-hush")

    result = run(CASE, Broken(lambda body: None, secrets=("hush-hush",)))
    assert (result.outcome, result.iterations[0].message) == (
        "error",
        "This iteration could not be run: ZeroDivisionError: oops •••",
    )


def test_what_of_a_case_is_not_sent_is_said_beside_the_answer():
    case = (
        "agent: a, connections: [https, http], metadata: {who: me}, "
        "interactions: [{text: q, sly_data: {key: k}}, {text: q}]"
    )
    unable = says("x")
    unable.unsent = ("sly_data", "metadata")
    notes = [turn.notes for turn in run(case, unable).iterations[0].turns]
    assert [len(told) for told in notes] == [3, 2, 2, 1]
    assert "not sent" in notes[0][0]
    assert "nothing was encrypted" in notes[0][2]
    able = says("x")
    able.scheme = "https"
    result = run(case, able).iterations[0]
    assert [turn.notes for turn in result.turns] == [()] * 4
    there = json.loads(json.dumps(run(case, unable).iterations[0].as_dict()))
    assert IterationResult.from_dict(there).turns[0].notes == notes[0]
    del there["turns"][0]["notes"], there["turns"][0]["reused"]
    assert IterationResult.from_dict(there).turns[0].notes == (), "rows of before have none"


def test_chat_endpoints_take_no_private_data_and_say_so():
    turn = "{text: q, sly_data: {key: k}}"
    told = run(f"agent: a, interactions: [{turn}]", chat_endpoint()).iterations[0].turns[0].notes
    assert told == ("Private data (sly_data) was not sent, because chat endpoints do not accept it.",)


def test_a_transcript_has_an_end_and_says_so():
    lines = [
        {"response": {"type": "AGENT", "text": "t" * 30_000, "origin": [{"tool": "o" * 500}]}},
        {"response": {"type": "AGENT", "text": "x", "structure": {"k": ["s" * 100] * 1_000}}},
        *[{"response": {"type": "AGENT", "text": "m" * 15_000}} for _ in range(60)],
        said("done"),
    ]
    turn = run("agent: a, interactions: [{text: q}]", Scripted(lambda body: lines)).iterations[0].turns[0]
    assert turn.text == "done"
    first, second, *rest, last = turn.messages
    assert first["text"] == "t" * 20_000 + "… (10,000 more characters were not stored)"
    assert first["origin"] == ["o" * 200 + "… (300 more characters were not stored)"]
    assert second["structure"].startswith('{"k": ["sss')
    assert second["structure"].endswith("more characters were not stored)")
    assert last == {
        "type": "NOTE",
        "origin": [],
        "text": f"{63 - 2 - len(rest):,} more messages of this answer were not stored.",
    }
    assert len(json.dumps(turn.messages)) < 520_000


def test_a_check_keeps_no_more_of_a_long_answer_but_compares_all_of_it():
    text = "x" * 50_000 + "needle"
    case = "agent: a, interactions: [{text: q, response: {text: {keywords: [needle, x]}, structure: {not_value: 1}}}]"
    result = run(case, says(text, structure={"k": "y" * 50_000}))
    assert result.outcome == "pass"
    assert all(len(check.actual) < 20_100 for check in result.iterations[0].checks)
    again = rescore(read_case(case), result.iterations[0], None, "document", redactor([]))
    assert again.outcome == "pass"


def test_a_secret_where_a_text_was_cut_leaves_no_beginning():
    for at in range(19_990, 20_001):
        lines = [{"response": {"type": "AGENT", "text": "t" * at + "hush-hush-hush"}}, said("done")]
        result = run(
            "agent: a, interactions: [{text: q}]",
            Scripted(lambda body, lines=lines: lines),
            secrets=("hush-hush-hush",),
        )
        assert "hus" not in json.dumps(result.as_dict())
