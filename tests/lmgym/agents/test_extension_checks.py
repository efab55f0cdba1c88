"""Checks that neuro-san does not have: regular expressions and JSON Schema, within limits."""

from __future__ import annotations

import time

import pytest

from lmgym.agents import extension_checks
from lmgym.agents.case_form import write_case
from lmgym.agents.case_reader import parse_case
from tests.lmgym.agents.helpers import findings, one_check, outcomes, run, says

FENCED = '```json\n{"a": 1}\n```'
ROWS = [
    ("text", 'regex: "^Hello,? w"', "Hello, world", "pass"),
    ("text", 'regex: "hello"', "Hello, world", "fail"),
    ("text", 'regex: "(?i)hello"', "Hello, world", "pass"),
    ("text", 'not_regex: "[0-9]"', "Hello", "pass"),
    ("text", 'not_regex: "[0-9]"', "Hello 1", "fail"),
    ("structure", 'k: {regex: "^a$"}', {"k": "a"}, "pass"),
    ("structure", 'k: {regex: "1"}', {"k": 1}, "error"),
    ("structure", 'k: {not_regex: "1"}', {"k": 1}, "error"),
    ("structure", 'k: {not_regex: "1"}', {}, "fail"),
    ("structure", "json_schema: {type: object, required: [k]}", {"k": 1}, "pass"),
    ("structure", "json_schema: {type: object, required: [j]}", {"k": 1}, "fail"),
    ("structure", "not_json_schema: {required: [j]}", {"k": 1}, "pass"),
    ("structure", "k: {json_schema: {type: integer, minimum: 2}}", {"k": 1}, "fail"),
    ("structure", 'k: {json_schema: {type: string, pattern: "^a"}}', {"k": "ba"}, "fail"),
    ("structure", "k: {json_schema: {uniqueItems: true}}", {"k": [1, 1.0]}, "fail"),
    ("structure", "k: {json_schema: {uniqueItems: true}}", {"k": [1, True, {"a": 1}, {"a": 2}]}, "pass"),
    ("structure", 'k: {json_schema: {"$ref": "#/$defs/n", "$defs": {n: {type: integer}}}}', {"k": 1}, "pass"),
    ("text", "json_schema: {type: array}", "[1, 2]", "pass"),
    ("text", "json_schema: {type: array}", "1, 2", "fail"),
    ("text", "not_json_schema: {type: array}", "{}", "pass"),
    ("text", "json_schema: {type: object, required: [a]}", '{"a": NaN}', "fail"),
    ("text", "json_schema: {type: object, required: [a]}", '{"a": -Infinity}', "fail"),
    ("text", "json_schema: {type: object, required: [a]}", FENCED, "fail"),
    ("text", "json_schema: {within_text: true, required: [a]}", FENCED, "pass"),
    ("text", "json_schema: {within_text: true, required: [a]}", f"Here:\n{FENCED}\nAnything else?", "pass"),
    ("text", "json_schema: {within_text: true, required: [b]}", FENCED, "fail"),
    ("text", "not_json_schema: {within_text: true, required: [b]}", FENCED, "pass"),
    ("text", "json_schema: {within_text: true, required: [a]}", '{"a": 1}', "pass"),
    ("text", "json_schema: {within_text: true, required: [a]}", 'As [1] says: {"a": 1}.', "pass"),
    ("text", "json_schema: {within_text: true, type: object}", "As [1] says: {a}.", "fail"),
    ("text", "json_schema: {within_text: true, type: object}", "no JSON", "fail"),
    ("text", "json_schema: {within_text: true, type: object}", '```\n{"a": NaN}\n```', "fail"),
    ("text", "json_schema: {within_text: false, required: [a]}", FENCED, "fail"),
]


@pytest.mark.parametrize(("part", "test", "actual", "outcome"), ROWS)
def test_every_row(part, test, actual, outcome):
    assert outcomes(one_check(part, test, actual)) == [outcome]


@pytest.mark.parametrize(
    "test", ['regex: "x"', "json_schema: {type: string}", "not_json_schema: {type: object}"]
)
def test_neuro_san_ignores_them_so_its_rules_skip_them_and_the_linter_says_so(test):
    made = one_check("text", test, "anything", "reference-compatible")
    assert outcomes(made) == ["skipped"]
    assert "neuro-san has no test" in made.checks[0].message
    text = f"agent: a, interactions: [{{text: q, response: {{text: {{{test}}}}}}}]"
    assert "is not in neuro-san" in findings(text)["own-test"].message


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ('regex: "("', "not a valid regular expression"),
        ("regex: 3", "must be text"),
        (f'regex: "{"x" * 1001}"', "1,001"),
        ("json_schema: x", "must be an object"),
        ("json_schema: {type: 3}", "not a valid JSON Schema"),
        ('json_schema: {within_text: "yes"}', "within_text must be true or false"),
        ('json_schema: {"$ref": "http://127.0.0.1/secret"}', "refer only to itself"),
        ('json_schema: {properties: {a: {"$ref": "file:///etc/passwd"}}}', "refer only to itself"),
        ('json_schema: {pattern: "("}', "not a valid regular expression"),
        ('json_schema: {patternProperties: {"x": {}}}', "patternProperties are not supported"),
    ],
)
def test_what_cannot_be_checked_is_refused_with_the_reason(test, message):
    case, problems = parse_case(f"agent: a, interactions: [{{text: q, response: {{text: {{{test}}}}}}}]")
    assert case is None
    assert [problem.line for problem in problems if message in problem.message] == [1]


def test_a_pattern_that_would_take_years_is_given_up(monkeypatch):
    monkeypatch.setattr(extension_checks, "PATTERN_SECONDS", 0.05)
    made = one_check("text", 'regex: "(?:.*?,){25}x"', "1," * 60)
    assert outcomes(made) == ["error"]
    assert "was stopped after 0.05 s" in made.checks[0].message
    schema = '{ type: string, pattern: "(?:.*?,){25}x" }'
    assert (
        "was stopped"
        in one_check("structure", f"k: {{json_schema: {schema}}}", {"k": "1," * 60}).checks[0].message
    )


def test_a_schema_that_would_take_years_is_given_up(monkeypatch):
    monkeypatch.setattr(extension_checks, "MAX_STEPS", 10_000)
    doubled = ", ".join(
        f'd{n}: {{allOf: [{{"$ref": "#/$defs/d{n + 1}"}}, {{"$ref": "#/$defs/d{n + 1}"}}]}}'
        for n in range(40)
    )
    schema = f'{{"$ref": "#/$defs/d0", "$defs": {{{doubled}, d40: {{}}}}}}'
    made = one_check("structure", f"json_schema: {schema}", {"k": 1})
    assert (outcomes(made), "stopped after 10,000 steps" in made.checks[0].message) == (["error"], True)
    endless = one_check("structure", 'json_schema: {"$ref": "#"}', {"k": 1})
    assert (outcomes(endless), "endlessly" in endless.checks[0].message) == (["error"], True)
    nowhere = one_check("structure", 'json_schema: {"$ref": "#/no"}', {"k": 1})
    assert outcomes(nowhere) == ["error"]


def test_what_is_no_json_is_said():
    def message(test, text):
        return one_check("text", f"json_schema: {{{test}}}", text).checks[0].message

    assert message("type: object", "yes") == "The text of the answer is not JSON."
    assert "NaN is not a JSON number" in message("type: object", '{"a": NaN}')
    assert "set within_text: true in the schema to search for it" in message("type: object", FENCED)
    assert message("within_text: true", "yes") == "The text of the answer contains no JSON object or list."
    assert message("within_text: true, required: [b]", FENCED) == "$: 'b' is a required property"


@pytest.mark.parametrize("text", ["[" * 300_000, '{"a' * 300_000, "{ [ " * 1_000, "{}" * 500_001])
def test_looking_for_json_in_a_text_of_brackets_ends(text):
    began = time.monotonic()
    made = one_check("text", "json_schema: {within_text: true, required: [a]}", text)
    assert outcomes(made)[0] in ("error", "fail")
    assert time.monotonic() - began < 10


def test_within_text_is_for_text():
    text = "agent: a, interactions: [{text: q, response: {structure: {json_schema: {within_text: true}}}}]"
    _, problems = parse_case(text)
    assert any("applies to the text of an answer" in problem.message for problem in problems)


def test_the_reason_names_the_place():
    made = one_check("structure", "json_schema: {properties: {k: {items: {type: integer}}}}", {"k": [1, "x"]})
    assert made.checks[0].message == '$.k[1]: "x" is not of type "integer"'


def test_messages_write_values_as_json_and_not_as_python():
    made = one_check("structure", "json_schema: {properties: {k: {enum: [true, null]}}}", {"k": False})
    (check,) = made.checks
    assert check.message == "$.k: false is not one of [true, null]"
    assert check.comparison == (
        'answer {"k": false} expected to fit {"properties": {"k": {"enum": [true, null]}}}'
    )
    assert one_check("text", "value: true", "plus").checks[0].comparison == 'expected true == answer "plus"'


def test_a_schema_survives_the_form_and_a_list_of_patterns_must_all_match():
    text = 'agent: a, interactions: [{text: q, response: {text: {regex: ["a", "b"], json_schema: {type: string}}}}]'
    case, _ = parse_case(text)
    again, _ = parse_case(write_case(case.document))
    assert again.document == case.document
    assert sorted(outcomes(run(text, says("a")).iterations[0])) == ["fail", "fail", "pass"]
