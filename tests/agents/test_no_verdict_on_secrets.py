"""People who may edit cases cannot learn secrets from verdicts, on fresh or on stored answers."""

from __future__ import annotations

import json
import string

import pytest

from lmgym.agents.case_reader import read_case
from lmgym.agents.driver import Options, run_case
from lmgym.agents.llm_judge import VotingJudge
from lmgym.agents.redact import HIDDEN, redactor
from lmgym.agents.scoring import WITHHELD, rescore
from tests.agents.site import make_run, make_server, make_suite
from tests.lmgym.agents.helpers import Scripted, ScriptedJudge, said

KEY = "CANARYzq7SECRETVAR"
ECHO = Scripted(lambda body: said(body["user_message"]["text"]))


def verdicts(text: str, checks: str, transport=ECHO, *, judge=None, **more: str) -> list[str]:
    """Return the outcomes of a case whose turn sends `text`. Fresh and rescored outcomes must agree."""
    values = more or {"KEY": KEY}
    case = read_case(f"agent: a, interactions: [{{text: {text}, response: {{{checks}}}}}]", values)
    secrets = tuple(values.values())
    fresh = run_case(case, transport, judge, Options(secrets=secrets)).iterations[0]
    again = rescore(case, fresh, judge, "document", redactor(secrets))
    found = [check.outcome for check in fresh.checks]
    if len(values) == 1:
        assert [check.outcome for check in again.checks] == found
    assert not any(value in json.dumps([fresh.as_dict(), again.as_dict()]) for value in secrets)
    return found


def test_letters_that_follow_a_known_beginning_are_all_answered_alike():
    guesses = [f'"CANARYzq7S{letter}"' for letter in string.ascii_uppercase]
    for test in ("keywords", "not_keywords", "value", "not_value"):
        found = verdicts("${KEY}", f"text: {{{test}: [{', '.join(guesses)}]}}")
        assert set(found) == {"error"}


@pytest.mark.parametrize(
    "checks",
    [
        'text: {less: "CANARYM"}',
        'text: {not_greater: "CANARYM"}',
        'text: {regex: "^CANARYzq7SE"}',
        'text: {not_regex: "[Q]"}',
        'text: {json_schema: {type: string, pattern: "^CAN"}}',
    ],
)
def test_patterns_schemas_and_orders_say_nothing_of_a_secret(checks):
    assert verdicts("${KEY}", checks) == ["error"]


@pytest.mark.parametrize(
    "checks", ['text: {regex: "["${KEY}"]"}', "text: {less: ${KEY}}", "text: {greater: ${KEY}}"]
)
def test_an_open_answer_is_no_measure_of_an_expected_secret(checks):
    assert verdicts("CANARYA", checks) == ["error"]


@pytest.mark.parametrize("key", ["AAAA-secret", "((((", "[z-a]"])
def test_a_pattern_made_of_a_secret_is_right_or_wrong_for_nobody(people, key):
    checks = "text: {regex: ${KEY}}"
    suite = make_suite(
        people.alice,
        variables={"KEY": key},
        cases={"c": f"agent: echo\ninteractions: [{{text: hello, response: {{{checks}}}}}]"},
    )
    case_run = make_run(suite, make_server(people.alice)).case_runs.get()
    [check] = case_run.results()[0].checks
    assert (case_run.error, check.outcome, check.message) == ("", "error", WITHHELD)


def test_a_secret_beside_itself_is_not_measured_either():
    for letter in "ABC":
        assert verdicts("${KEY}${KEY}", f'text: {{keywords: ${{KEY}}"{letter}"}}') == ["fail"]


def test_what_stands_beside_a_secret_is_found_and_the_secret_as_a_whole():
    assert verdicts('"hello "${KEY}', "text: {keywords: [hello, ${KEY}]}") == ["pass", "pass"]
    assert verdicts('"hello "${KEY}', 'text: {value: "hello "${KEY}}') == ["pass"]
    assert verdicts('"hello "${KEY}', "text: {not_keywords: [hello, ${KEY}]}") == ["fail", "fail"]
    assert verdicts("nothing", "text: {keywords: ${KEY}, not_keywords: ${KEY}}") == ["fail", "pass"]


def test_fresh_answers_tell_two_secrets_apart():
    found = verdicts("${B}", "text: {keywords: [${A}, ${B}]}", A="first-secret", B="second-secret")
    assert found == ["fail", "pass"]


def test_the_sign_of_a_secret_is_no_keyword():
    assert verdicts("${KEY}", f'text: {{keywords: ["•", "{HIDDEN}"]}}')[0] == "error"


def test_the_judge_is_told_no_secret():
    asked = ScriptedJudge("pass")
    verdicts('"hello "${KEY}', 'text: {gist: "Greets "${KEY}}', judge=VotingJudge(asked))
    assert asked.prompts
    for prompt in asked.prompts:
        assert f"Greets {HIDDEN}" in prompt
        assert f"hello {HIDDEN}" in prompt


def test_an_editors_case_in_the_owners_run_tells_no_letter(people):
    case = 'agent: echo\ninteractions: [{text: ${KEY}, response: {text: {keywords: "CANARYzq7S%s"}}}]'
    cases = {f"o{letter}": case % letter for letter in "EXY"}
    suite = make_suite(people.alice, variables={"KEY": KEY}, cases=cases)
    run = make_run(suite, make_server(people.alice))
    told = {(row.outcome, row.passed, row.n, row.errors) for row in run.case_runs.all()}
    assert told == {("error", 0, 0, 1)}


def test_an_agent_that_writes_the_sign_of_a_secret_has_not_said_it():
    sign = redactor([KEY], marked=True)(KEY)
    case = read_case(
        "agent: a, interactions: [{text: hello, response: {text: {value: ${KEY}}}}]", {"KEY": KEY}
    )
    fresh = run_case(case, Scripted(lambda body: said(sign)), None, Options(secrets=(KEY,))).iterations[0]
    assert [check.outcome for check in fresh.checks] == ["fail"]
