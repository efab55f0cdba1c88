"""Every row of the table of checks: how `response` is walked and how the tests decide, in both readings."""

from __future__ import annotations

import pytest

from lmgym.agents.case_reader import read_case
from lmgym.agents.cases import CaseError
from lmgym.agents.redact import redactor
from lmgym.agents.scoring import rescore
from tests.lmgym.agents.helpers import findings, one_check, outcomes, run, says

BOTH = ["document", "reference-compatible"]
PASS, FAIL, ERROR, SKIPPED = ["pass"], ["fail"], ["error"], ["skipped"]

# part, test as in the file, actual value, outcomes by the document, and by the code where they differ
ROWS = [
    # value
    ("text", 'value: "Hello"', "Hello", PASS, None),
    ("text", 'value: "hello"', "Hello", FAIL, None),
    ("text", 'value: "Hello "', "Hello", FAIL, None),
    ("text", "value: 3", "3", FAIL, None),
    ("sly_data", "flag: {value: True}", {"flag": True}, PASS, None),
    ("sly_data", "flag: {not_value: True}", {"flag": True}, FAIL, None),
    ("sly_data", "flag: {value: FALSE}", {"flag": "FALSE"}, FAIL, None),
    ("sly_data", 'flag: {value: "True"}', {"flag": "True"}, PASS, None),
    ("sly_data", "share: {value: [.5]}", {"share": 0.5}, PASS, None),
    ("structure", "k: {greater: .5}", {"k": 0.7}, PASS, FAIL),
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
    # less, greater: the code swaps the operands
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
    ("text", "not_less: b", "c", PASS, FAIL),
    ("text", "not_less: b", "a", FAIL, PASS),
    ("text", "greater: b", "c", PASS, FAIL),
    ("text", "greater: b", "a", FAIL, PASS),
    ("text", "not_greater: b", "a", PASS, FAIL),
    ("text", "not_greater: b", "c", FAIL, PASS),
    ("text", "greater: Z", "a", PASS, FAIL),
    ("text", "not_less: 5", "6", ERROR, None),
    ("text", "greater: 5", "6", ERROR, None),
    ("text", "not_greater: 5", "4", ERROR, None),
    ("structure", 'k: {not_less: "5"}', {"k": 6}, ERROR, None),
    ("structure", 'k: {greater: "5"}', {"k": 6}, ERROR, None),
    ("structure", 'k: {not_greater: "5"}', {"k": 4}, ERROR, None),
    ("structure", "k: {greater: 5}", {"k": [6]}, ERROR, None),
    ("structure", "k: {less: [9, 3]}", {"k": 5}, ["pass", "fail"], ["fail", "pass"]),
    # missing data: the code compares anyway, and None has no order
    ("structure", "k: {less: 5}", {}, FAIL, ERROR),
    ("structure", "k: {not_less: 5}", {}, FAIL, ERROR),
    ("structure", "k: {greater: 5}", {}, FAIL, ERROR),
    ("structure", "k: {not_greater: 5}", {}, FAIL, ERROR),
    ("structure", "k: {less: 5}", {"k": None}, FAIL, ERROR),
    ("structure", "k: {not_less: 5}", {"k": None}, FAIL, ERROR),
    ("structure", "k: {greater: 5}", {"k": None}, FAIL, ERROR),
    ("structure", "k: {not_greater: 5}", {"k": None}, FAIL, ERROR),
    ("structure", "k: {less: []}", {}, FAIL, None),
    ("structure", "k: {value: 5}", {}, FAIL, None),
    ("structure", "k: {keywords: a}", {}, FAIL, None),
    ("structure", "k: {not_keywords: a}", {}, FAIL, None),
    # incomparable values end the iteration in the code, and are an error of the check in the document
    ("structure", "k: {less: [a, 9], value: 5}", {"k": 5}, ["error", "pass", "pass"], ["error", "skipped", "skipped"]),
    # walking
    ("text", "KEYWORDS: x", "x", PASS, None),
    ("text", "Not_Keywords: x", "x", FAIL, None),
    ("text", "keyword: x", "y", SKIPPED, None),
    ("text", "keywords: null", "y", SKIPPED, None),
    ("text", "foo: {value: x}", "x", FAIL, None),
    ("foo", "value: 1", None, SKIPPED, None),
    ("foo", "bar: {value: 1}", {"bar": 2}, SKIPPED, None),
    ("structure", "a: {b: {c: {value: 1}}}", {"a": {"b": {"c": 1}}}, PASS, None),
    ("structure", "a: {b: {value: 1}, value: 2}", {"a": {"b": 1}}, ["fail", "pass"], None),
    ("structure", "a: {}", {"a": 1}, SKIPPED, None),
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
def test_every_row_in_both_readings(part, test, actual, document, code):
    assert outcomes(one_check(part, test, actual)) == document
    assert outcomes(one_check(part, test, actual, "reference-compatible")) == (
        document if code is None else code
    )


@pytest.mark.parametrize("reading", BOTH)
@pytest.mark.parametrize("response", ["foo: {value: 1}", "text: Stones", "structure: [1]", "sly_data: 3"])
def test_unknown_parts_and_bare_values_check_nothing_and_fail_nothing(reading, response):
    """The check is reported as skipped; the other checks are made and decide."""
    for keywords, outcome in (("ok", "pass"), ("no", "fail")):
        turn = f"{{text: q, response: {{{response}}}}}, {{text: q, response: {{text: {{keywords: {keywords}}}}}}}"
        result = run(f"agent: a, interactions: [{turn}]", says("ok"), reading)
        assert [check.outcome for check in result.iterations[0].checks] == ["skipped", outcome]
        assert (result.outcome, result.checks_made) == (outcome, 1)


@pytest.mark.parametrize("reading", BOTH)
def test_an_impossible_comparison_ends_the_iteration_only_in_the_code(reading):
    good = "{text: second, response: {text: {keywords: ok}}}"
    bad = "{text: first, response: {structure: {k: {less: 5}}, sly_data: {m: {value: 1}}}}"
    transport = says("ok", structure={"k": "word"}, sly_data={"m": 1})
    case = f"agent: a, connections: [http, http], success_ratio: 1/2, interactions: [{bad}, {good}]"
    result = run(case, transport, reading, parallel=1)
    sent = [body["user_message"]["text"] for _, body, _ in transport.asked]
    if reading == "document":
        assert sent == ["first", "second"] * 4
        assert outcomes(result.iterations[0]) == ["error", "pass", "pass"] * 2
    else:
        # Only the first of two connections and turns is used; the next iteration starts over.
        assert sent == ["first"] * 2
        assert outcomes(result.iterations[0]) == ["error"] + ["skipped"] * 5
        assert "cannot be compared" in result.iterations[0].checks[1].message
    assert [iteration.outcome for iteration in result.iterations] == ["error", "error"]


def test_rescoring_ends_an_iteration_where_the_run_would():
    text = (
        "agent: a, interactions: [{text: q, response: {text: {less: %s}}},"
        "{text: q, response: {text: {keywords: ok}}}]"
    )
    case = read_case(text % 5)
    before = run(text % "z", says("ok")).iterations[0]
    for reading, found in (("document", ["error", "pass"]), ("reference-compatible", ["error", "skipped"])):
        again = rescore(case, before, None, reading, redactor([]))
        assert (again.outcome, outcomes(again)) == ("error", found)


def test_a_comparison_shows_its_operands_in_the_order_of_the_reading():
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


def test_a_check_has_expected_and_actual_value_and_its_place():
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
    ("foo: {value: 1}", "unknown-part", "Expected one of text, structure, sly_data."),
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
def test_keys_that_would_check_nothing_are_reported_with_their_place(response, code, hint):
    found = findings(f"agent: a\ninteractions: [{{text: q\n response: {{{response}}}}}]")[code]
    assert found.line == 3
    assert found.where.startswith("interactions[0].response")
    assert hint in found.hint


def test_a_skipped_check_has_a_reason():
    check = one_check("text", "keyword: x", "y").checks[0]
    assert (check.outcome, check.message) == ("skipped", "Not checked: there is no test 'keyword'.")


# --- an agent that fails while answering 200 ---


def test_an_error_message_as_answer_is_an_error_and_not_a_failed_check():
    text = "agent: a, interactions: [{text: q, response: {text: {keywords: ok, not_keywords: bad}}}]"
    answer = "Error from a: Agent stopped due to exception Connection error."
    result = run(text, says(answer))
    assert outcomes(result.iterations[0]) == ["error", "error"]
    assert answer in result.iterations[0].checks[0].message
    met = run(
        'agent: a, interactions: [{text: q, response: {text: {keywords: ["x", "gone"]}}}]', says(answer)
    )
    assert outcomes(met.iterations[0]) == ["error", "error"], "not a pass for a word of the message"
    assert outcomes(run(text, says(answer), "reference-compatible").iterations[0]) == ["fail", "pass"]
    structured = says("", structure={"error": "down", "tool": "a", "details": "x"})
    assert outcomes(run(text, structured).iterations[0]) == ["error", "error"]


def test_problems_name_line_and_path():
    with pytest.raises(CaseError) as caught:
        read_case("agent: a\ninteractions: [\n  {text: hi, continue_conversation: maybe}\n]")
    problem = caught.value.problems[0]
    assert (problem.line, problem.column, problem.where) == (3, 14, "interactions[0].continue_conversation")


def test_a_skipped_check_has_its_own_line():
    values = "structure: {\n  a: {\n    value: null\n    less: null\n  }\n}"
    case = read_case(f"agent: a\ninteractions: [{{text: q, response: {{\n{values}\n}}}}]")
    checks = case.interactions[0].checks
    assert [(check.test, check.line) for check in checks if check.skipped] == [("value", 5), ("less", 6)]
