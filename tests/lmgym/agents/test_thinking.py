"""A model's thinking is not part of a verdict, nor of an answer if the case excludes it."""

from __future__ import annotations

import time

import pytest

from lmgym.agents.assessor import read_choice
from lmgym.agents.case_reader import read_case
from lmgym.agents.llm_judge import VotingJudge, verdict_of
from lmgym.agents.redact import redactor
from lmgym.agents.scoring import rescore
from lmgym.agents.thinking import without_thinking
from tests.lmgym.agents.helpers import ScriptedJudge, findings, outcomes, refused, run, says

ALOUD = "<think>maybe Goodbye?</think>\n\nHello"
CASE = "agent: m1%s, interactions: [{text: q, response: {text: {not_keywords: Goodbye, value: Hello}}}]"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (ALOUD, "Hello"), ("Hello", "Hello"), (" Hello ", " Hello "), ("a <think>b</think> c", "a  c"),
        ("<think>a</think><think>b</think>c", "c"), ("Hello <think>cut", "Hello"), ("<think>cut", ""),
        ("begun in the prompt</think>Hello", "Hello"), ("a</think>b<think>c</think>d", "bd"), ("", ""),
    ],
)  # fmt: skip
def test_thoughts_are_left_out(text, answer):
    assert without_thinking(text) == answer


def test_many_thoughts_take_no_longer_than_one():
    began = time.monotonic()
    without_thinking("<think>" * 500_000)
    assert time.monotonic() - began < 2


def test_thoughts_are_checked_unless_the_case_leaves_them_out():
    assert outcomes(run(CASE % "", says(ALOUD)).iterations[0]) == ["fail", "fail"]
    result = run(CASE % ", ignore_thinking: true", says(ALOUD)).iterations[0]
    assert outcomes(result) == ["pass", "pass"]
    assert result.turns[0].text == ALOUD, "the transcript holds all of it"


def test_neuro_san_knows_no_such_key_so_its_rules_check_all_of_the_text():
    text = CASE % ", ignore_thinking: true"
    assert outcomes(run(text, says(ALOUD), "reference-compatible").iterations[0]) == ["fail", "fail"]
    assert "neuro-san ignores ignore_thinking" in findings(text)["own-key"].message
    assert "true or false" in refused(CASE % ', ignore_thinking: "yes"')


def test_stored_answers_are_scored_again_without_thoughts():
    before = run(CASE % "", says(ALOUD)).iterations[0]
    after = rescore(read_case(CASE % ", ignore_thinking: true"), before, None, "document", redactor([]))
    assert outcomes(after) == ["pass", "pass"]


def test_a_judge_is_asked_about_the_answer_alone():
    judge_model = ScriptedJudge("pass")
    text = "agent: m1, ignore_thinking: true, interactions: [{text: q, response: {text: {gist: greets}}}]"
    run(text, says(ALOUD), judge=VotingJudge(judge_model))
    assert "Goodbye" not in judge_model.prompts[0]


def test_what_a_judge_thinks_is_no_part_of_its_verdict():
    assert verdict_of("<think>It could fail.\nfail?</think>\npass") == ("pass", "")
    assert verdict_of("<think>pass")[0] == "error"
    opinion = VotingJudge(ScriptedJudge(f"<think>{'x' * 5_000}</think>fail: it is rude")).judge("c", "s")
    assert (opinion.verdict, opinion.reason, opinion.raw) == ("fail", "it is rude", "fail: it is rude")


def test_by_the_rules_of_neuro_san_all_that_a_judge_says_is_searched():
    judge = VotingJudge(ScriptedJudge("<think>fail?</think>\npass"), compatible=True)
    assert judge.judge("c", "s").verdict == "error"


def test_what_a_namer_thinks_is_no_part_of_its_choice():
    assert read_choice("<think>1 or 2?</think>\n2", ["one", "two"]) == "two"
