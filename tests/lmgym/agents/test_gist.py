"""The tests gist and not_gist in both readings: what the judge is sent, and how its answer counts."""

from __future__ import annotations

import pytest

from lmgym.agents import cli_options as shared
from lmgym.agents.llm_judge import AgentJudge, VotingJudge, reference_prompt
from lmgym.agents.scoring import sample_of
from tests.lmgym.agents.helpers import ScriptedJudge, judge_saying, one_check, outcomes, says

BOTH = ["document", "reference-compatible"]
PASS, FAIL, ERROR = ["pass"], ["fail"], ["error"]


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
def test_not_gist_is_the_opposite_of_gist(reading, test, answer, outcome):
    judge = judge_saying(answer, compatible=reading != "document")
    assert outcomes(one_check("text", f'{test}: "it is so"', "sample", reading, judge)) == [outcome]


@pytest.mark.parametrize("test", ["gist", "not_gist"])
@pytest.mark.parametrize("answer", ["It could pass or fail.", "", "maybe"])
def test_an_unclear_answer_is_an_error_in_the_document_and_a_failure_in_the_code(test, answer):
    assert outcomes(one_check("text", f"{test}: c", "s", judge=judge_saying(answer))) == ERROR
    code = judge_saying(answer, compatible=True)
    assert outcomes(one_check("text", f"{test}: c", "s", "reference-compatible", code)) == FAIL


@pytest.mark.parametrize("test", ["gist", "not_gist"])
def test_a_judges_error_message_with_a_verdict_word_is_a_verdict_only_in_the_code(test):
    """The judge answers like a server whose model is down: with status 200."""
    down = "Error from gist: Agent stopped due to exception Request failed."

    def judge(compatible):
        return VotingJudge(AgentJudge(says(down), "gist", compiled=compatible), compatible=compatible)

    document = one_check("text", f"{test}: c", "s", judge=judge(False))
    assert outcomes(document) == ERROR
    assert down in document.checks[0].message
    code = one_check("text", f"{test}: c", "s", "reference-compatible", judge(True))
    assert outcomes(code) == (FAIL if test == "gist" else PASS)
    assert code.checks[0].judge["verdict"] == "fail"


@pytest.mark.parametrize(
    ("text", "structure", "document", "code"),
    [
        (None, {"verdict": "pass"}, "error", "pass"),
        ("", {"verdict": "FAIL"}, "error", "fail"),
        ("pass", {"why": "it did not fail"}, "pass", "error"),
        ("pass", {"b": 1, "a": "x"}, "pass", "pass"),
        ("fail", None, "fail", "fail"),
        (None, None, "error", "error"),
    ],
)
def test_the_structure_of_the_judges_answer_counts_only_in_the_code(text, structure, document, code):
    more = {} if structure is None else {"structure": structure}
    strict = VotingJudge(AgentJudge(says(text, **more), "gist")).judge("c", "s")
    loose = VotingJudge(AgentJudge(says(text, **more), "gist", compiled=True), compatible=True)
    assert (strict.verdict, loose.judge("c", "s").verdict) == (document, code)


def test_in_the_code_the_structure_follows_the_text_as_json():
    answer, _ = AgentJudge(says("pass", structure={"b": 1, "a": "x"}), "gist", compiled=True)("?", None)
    assert answer == 'pass\n```json\n{\n    "a": "x",\n    "b": 1\n}\n```'


@pytest.mark.parametrize("compatible", [True, False])
def test_the_judge_of_the_command_uses_the_reading_of_the_command(compatible):
    given = {"judge": "gist", "judge_server": "", "server": "x", "votes": 1}
    given |= {"variable": [], "header": [], "judge_header": []}
    made = shared.judge({**given, "reference_compatible": compatible}, says("pass"))
    assert made is not None
    assert made.ask.compiled is compatible


@pytest.mark.parametrize(
    ("actual", "document", "code"),
    [
        ("a 'b'", "a 'b'", "a 'b'"),
        ({"a": [1, True]}, '{"a": [1, true]}', "{'a': [1, True]}"),
        (["é", None], '["é", null]', "['é', None]"),
        (False, "false", "False"),
        (1.0, "1.0", "1.0"),
    ],
)
def test_the_judge_sees_text_unchanged_and_data_as_json_or_in_the_code_as_python_prints_it(
    actual, document, code
):
    assert (sample_of(actual, "document"), sample_of(actual, "reference-compatible")) == (document, code)
    part, test, answer = (
        ("text", "gist: c", actual)
        if isinstance(actual, str)
        else ("sly_data", "k: {gist: c}", {"k": actual})
    )
    judge_model = ScriptedJudge("pass")
    one_check(part, test, answer, judge=VotingJudge(judge_model))
    assert f">>>\n{document}\n<<<" in judge_model.prompts[0]
    judge_model = ScriptedJudge("pass")
    judge = VotingJudge(judge_model, compatible=True)
    one_check(part, test, answer, "reference-compatible", judge)
    assert judge_model.prompts == [f'\nThe acceptance_criteria is:\n"c".\n\nThe text_sample is:\n"{code}".\n']


def test_in_the_code_the_prompt_is_not_escaped():
    assert reference_prompt('says "x" {y}', 'a".\n{0}') == (
        '\nThe acceptance_criteria is:\n"says "x" {y}".\n\nThe text_sample is:\n"a".\n{0}".\n'
    )


@pytest.mark.parametrize("reading", BOTH)
@pytest.mark.parametrize("test", ["gist", "not_gist"])
def test_missing_data_fails_gist_and_not_gist_without_asking_the_judge(reading, test):
    judge_model = ScriptedJudge("fail" if test == "not_gist" else "pass")
    assert (
        outcomes(one_check("structure", f"k: {{{test}: c}}", {}, reading, VotingJudge(judge_model))) == FAIL
    )
    assert judge_model.prompts == []


def test_without_a_judge_gist_is_an_error():
    iteration = one_check("text", "gist: c", "s")
    assert outcomes(iteration) == ERROR
    assert "No judge" in iteration.checks[0].message
