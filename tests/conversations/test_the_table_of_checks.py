"""Every row of how `response` is walked, and of what the stock tests say, in both readings."""

from __future__ import annotations

import pytest

from gym.conversations.cases import CaseError, read_case
from tests.conversations.helpers import Asks, findings, judge_saying, one_check, outcomes, run, says

BOTH = ["document", "reference-compatible"]
PASS, FAIL, ERROR, SKIPPED = ["pass"], ["fail"], ["error"], ["skipped"]

# part, test as in the file, what stands there, outcomes by the document, by the code where they differ
ROWS = [
    # value
    ("text", 'value: "Hello"', "Hello", PASS, None),
    ("text", 'value: "hello"', "Hello", FAIL, None),
    ("text", 'value: "Hello "', "Hello", FAIL, None),
    ("text", "value: 3", "3", FAIL, None),
    ("structure", "k: {value: 3}", {"k": 3.0}, PASS, None),
    ("structure", "k: {value: true}", {"k": 1}, PASS, None),
    ("structure", 'k: {value: "3"}', {"k": 3}, FAIL, None),
    ("structure", "k: {value: 0.3}", {"k": 0.1 + 0.2}, FAIL, None),
    ("structure", "k: {value: [1, 2]}", {"k": [1, 2]}, FAIL * 2, None),
    ("structure", "k: {value: [[1, 2]]}", {"k": [1, 2]}, PASS, None),
    ("structure", "k: {value: [{a: 1}]}", {"k": {"a": 1}}, PASS, None),
    ("structure", "k: {value: [1, 1.0]}", {"k": 1}, PASS * 2, None),
    ("structure", "k: {value: []}", {"k": 1}, PASS, None),
    ("structure", "k: {value: []}", {}, FAIL, None),
    # not_value
    ("text", "not_value: x", "y", PASS, None),
    ("text", "not_value: x", "x", FAIL, None),
    ("text", "not_value: [x, y]", "x", ["fail", "pass"], None),
    ("structure", "k: {not_value: 1}", {"k": None}, FAIL, None),
    ("structure", "k: {not_value: 1}", {}, FAIL, None),
    # keywords
    ("text", "keywords: Beat", "The Beatles", PASS, None),
    ("text", "keywords: beat", "The Beatles", FAIL, None),
    ("text", "keywords: [The, Beatles, Stones]", "The Beatles", ["pass", "pass", "fail"], None),
    ("text", 'keywords: ""', "anything", PASS, None),
    ("text", "keywords: é", "café", PASS, None),
    ("text", "keywords: 3", "3", ERROR, None),
    ("structure", "k: {keywords: 1}", {"k": [1, 2]}, PASS, None),
    ("structure", "k: {keywords: a}", {"k": {"a": 1}}, PASS, None),
    ("structure", "k: {keywords: a}", {"k": 5}, ERROR, None),
    ("sly_data", "keywords: n", {"n": 1}, PASS, None),
    ("sly_data", "keywords: m", {"n": 1}, FAIL, None),
    # not_keywords
    ("text", "not_keywords: Stones", "The Beatles", PASS, None),
    ("text", "not_keywords: Beatles", "The Beatles", FAIL, None),
    ("text", "not_keywords: 3", "x", ERROR, None),
    ("sly_data", "not_keywords: m", {"n": 1}, PASS, None),
    ("sly_data", "not_keywords: m", None, FAIL, None),
    # less, greater: the code turns them round
    ("structure", "k: {less: 5}", {"k": 4}, PASS, FAIL),
    ("structure", "k: {less: 5}", {"k": 6}, FAIL, PASS),
    ("structure", "k: {less: 5}", {"k": 5}, FAIL, None),
    ("structure", "k: {not_less: 5}", {"k": 4}, FAIL, PASS),
    ("structure", "k: {not_less: 5}", {"k": 6}, PASS, FAIL),
    ("structure", "k: {not_less: 5}", {"k": 5}, PASS, None),
    ("structure", "k: {greater: 5}", {"k": 6}, PASS, FAIL),
    ("structure", "k: {greater: 5}", {"k": 4}, FAIL, PASS),
    ("structure", "k: {greater: 5}", {"k": 5}, FAIL, None),
    ("structure", "k: {not_greater: 5}", {"k": 4}, PASS, FAIL),
    ("structure", "k: {not_greater: 5}", {"k": 6}, FAIL, PASS),
    ("structure", "k: {not_greater: 5}", {"k": 5}, PASS, None),
    ("text", "less: b", "a", PASS, FAIL),
    ("text", "less: 5", "4", ERROR, None),
    ("structure", "k: {less: 5}", {"k": "4"}, ERROR, None),
    ("structure", "k: {less: 5}", {"k": {"a": 1}}, ERROR, None),
    ("structure", "k: {less: 5}", {}, FAIL, ERROR),
    ("structure", "k: {not_greater: 5}", {"k": None}, FAIL, ERROR),
    # walking
    ("text", "KEYWORDS: x", "x", PASS, None),
    ("text", "Not_Keywords: x", "x", FAIL, None),
    ("text", "keyword: x", "y", SKIPPED, None),
    ("text", "keywords: null", "y", SKIPPED, None),
    ("text", "foo: {value: x}", "x", FAIL, None),
    ("structure", "a: {b: {c: {value: 1}}}", {"a": {"b": {"c": 1}}}, PASS, None),
    ("structure", "a: {b: {value: 1}, value: 2}", {"a": {"b": 1}}, ["fail", "pass"], None),
    ("structure", "a: {}", {"a": 1}, [], None),
    ("structure", 'a: {"0": {value: 1}}', {"a": [1]}, FAIL, None),
    ("sly_data", "value: {value: 1}", {"value": 1}, PASS, None),
    ("sly_data", "keywords: {keywords: x}", {"keywords": "xyz"}, PASS, None),
    ("sly_data", '"a.b": {value: 2}', {"a.b": 2}, PASS, SKIPPED),
    ("sly_data", '"a.b": {value: 2}', {"a.b": 3}, FAIL, SKIPPED),
    ("sly_data", '"co:lon": {value: 4}', {"co:lon": 4}, PASS, FAIL),
    ("sly_data", '"a b": {value: 4}', {"a b": 4}, PASS, None),
    ("structure", "k: {value: 1}", None, FAIL, None),
]  # fmt: skip


@pytest.mark.parametrize(("part", "test", "actual", "document", "code"), ROWS)
def test_rows(part, test, actual, document, code):
    assert outcomes(one_check(part, test, actual)) == document
    assert outcomes(one_check(part, test, actual, "reference-compatible")) == (
        document if code is None else code
    )


def test_the_order_of_the_operands_is_shown():
    shown = {
        reading: one_check("structure", "k: {less: 5}", {"k": 4}, reading).checks[0].comparison
        for reading in BOTH
    }
    assert shown == {
        "document": "answer 4 < expected 5",
        "reference-compatible": "expected 5 < answer 4",
    }
    assert "operand-order" in findings(
        "agent: a, interactions: [{text: q, response: {structure: {k: {less: 5}}}}]"
    )


def test_expected_and_actual_are_in_every_row():
    check = one_check("text", "keywords: [x, yes]", "no").checks[1]
    assert (check.expected, check.actual, check.element, check.where) == (
        "yes",
        "no",
        1,
        "response.text.keywords",
    )


def test_parts_are_tested_in_their_order_breadth_first():
    text = (
        "agent: a, interactions: [{text: q, response: {"
        "sly_data: {keywords: d}, structure: {a: {b: {value: 1}}, c: {value: 2}}, text: {keywords: [x, y]}}}]"
    )
    wheres = [check.where for check in read_case(text).interactions[0].checks]
    assert wheres == [
        "response.text.keywords",
        "response.text.keywords",
        "response.structure.c.value",
        "response.structure.a.b.value",
        "response.sly_data.keywords",
    ]


SILENT = [
    ("text: {keyword: x}", "unknown-test", "Did you mean keywords?"),
    ("foo: {value: 1}", "unknown-part", "Known are text, structure, sly_data."),
    ("text: Stones", "bare-part", "Name a test"),
    ("text: null", "null", ""),
    ("text: {keywords: null}", "null", ""),
    ("structure: {reservation_id: {}}", "empty", ""),
    ("text: {keywords: []}", "empty-list", ""),
    ("structure: {k: {value: {a: 1}}}", "nested-test", "put it in a list"),
    ('sly_data: {"a.b": {value: 1}}', "dotted-key", ""),
    ('sly_data: {"co:lon": {value: 1}}', "quoted-key", ""),
    ("text: {value: 3}", "type", "quotes"),
    ("text: {keywords: 3}", "type", "quotes"),
    ("text: {not_value: 3}", "type", ""),
    ("text: {less: 3}", "type", ""),
    ("text: {gist: 3}", "type", ""),
    ('text: {keywords: ""}', "empty-text", ""),
    ("text: {keywords: one two three four five six}", "long-keyword", "gist"),
    ("text: {foo: {value: x}}", "text-key", ""),
]


@pytest.mark.parametrize(("response", "code", "hint"), SILENT)
def test_what_would_silently_check_nothing_is_found_with_its_place(response, code, hint):
    found = findings(f"agent: a\ninteractions: [{{text: q\n response: {{{response}}}}}]")[code]
    assert found.line == 3
    assert found.where.startswith("interactions[0].response")
    assert hint in found.hint


def test_skipped_checks_are_rows_that_say_why():
    check = one_check("text", "keyword: x", "y").checks[0]
    assert (check.outcome, check.message) == ("skipped", "Not checked: there is no test 'keyword'.")


# --- gist ---


@pytest.mark.parametrize("reading", BOTH)
@pytest.mark.parametrize(
    ("test", "answer", "outcome"),
    [
        ("gist", "pass", "pass"),
        ("gist", "fail", "fail"),
        ("not_gist", "fail", "pass"),
        ("not_gist", "pass", "fail"),
        ("gist", "Pass.", "pass"),
    ],
)
def test_gist(reading, test, answer, outcome):
    from gym.conversations.judging import reference_verdict, verdict_of

    judge = judge_saying(answer, read=verdict_of if reading == "document" else reference_verdict)
    assert outcomes(one_check("text", f'{test}: "it is so"', "sample", reading, judge)) == [outcome]


@pytest.mark.parametrize("test", ["gist", "not_gist"])
@pytest.mark.parametrize("answer", ["It could pass or fail.", "", "maybe", "Error from gist: failed"])
def test_what_is_no_verdict_is_a_judge_error_by_the_document_and_a_failure_by_the_code(test, answer):
    from gym.conversations.judging import reference_verdict

    assert outcomes(one_check("text", f"{test}: c", "s", judge=judge_saying(answer))) == ERROR
    if "Error" not in answer:
        code = judge_saying(answer, read=reference_verdict)
        assert outcomes(one_check("text", f"{test}: c", "s", "reference-compatible", code)) == FAIL


def test_the_judge_sees_text_as_it_is_and_else_json():
    for actual, sample in (("a 'b'", "a 'b'"), ({"a": [1, True]}, '{"a": [1, true]}')):
        asks = Asks("pass")
        from gym.conversations.judging import VotingJudge

        part, test = ("text", "gist: c") if isinstance(actual, str) else ("sly_data", "gist: c")
        one_check(part, test, actual, judge=VotingJudge(asks))
        assert f">>>\n{sample}\n<<<" in asks.prompts[0]


def test_missing_data_fail_gist_and_not_gist_without_asking():
    asks = Asks("fail")
    from gym.conversations.judging import VotingJudge

    assert outcomes(one_check("structure", "k: {not_gist: c}", {}, judge=VotingJudge(asks))) == FAIL
    assert asks.prompts == []


def test_without_a_judge_gist_is_an_error():
    iteration = one_check("text", "gist: c", "s")
    assert outcomes(iteration) == ERROR
    assert "No judge" in iteration.checks[0].message


# --- an agent that fails while answering 200 ---


def test_an_agents_own_error_is_no_failed_check():
    text = "agent: a, interactions: [{text: q, response: {text: {keywords: ok, not_keywords: bad}}}]"
    answer = "Error from a: Agent stopped due to exception Connection error."
    result = run(text, says(answer))
    assert outcomes(result.iterations[0]) == ["error", "error"]
    assert answer in result.iterations[0].checks[0].message
    assert outcomes(run(text, says(answer), "reference-compatible").iterations[0]) == ["fail", "pass"]
    structured = says("", structure={"error": "down", "tool": "a", "details": "x"})
    assert outcomes(run(text, structured).iterations[0]) == ["error", "error"]


def test_problems_name_line_and_path():
    with pytest.raises(CaseError) as caught:
        read_case("agent: a\ninteractions: [\n  {text: hi, continue_conversation: maybe}\n]")
    problem = caught.value.problems[0]
    assert (problem.line, problem.column, problem.where) == (3, 14, "interactions[0].continue_conversation")
