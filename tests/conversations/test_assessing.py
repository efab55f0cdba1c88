"""Failures sorted into modes: without a model, with one that chooses, and as the user merged and named them."""

from __future__ import annotations

import json

from gym.conversations.assessor import assess, choice_prompt, read_choice, samples_of, text_report
from gym.conversations.embedded import EmbeddedTransport
from gym.conversations.judges import AgentJudge
from gym.conversations.judging import VotingJudge
from gym.conversations.naming import chooser
from tests.conversations.helpers import Asks, Scripted, judge_saying, run, said, says

TWO = 'agent: music_nerd, success_ratio: "%s", interactions: [{text: "Who did Yellow Submarine?", response: {text: {'
CASE = TWO + "gist: [\"Mentions 'Beatles'\", \"Mentions 'Stones'\"], keywords: zzz}}}]"


def music(ratio: str):
    return run(CASE % ratio, EmbeddedTransport(), judge=VotingJudge(AgentJudge(EmbeddedTransport(), "judge")))


def test_all_iterations_are_samples_whatever_the_ratio_needs():
    for ratio in ("1/6", "6/6"):
        found = assess(music(ratio))
        assert (found.iterations, found.checks, found.failures) == ((0, 6), (6, 18), 12)


def test_all_kinds_of_checks_are_assessed():
    wheres = {sample.where for mode in assess(music("1/2")).modes for sample in mode.samples}
    assert wheres == {"response.text.gist", "response.text.keywords"}


def test_modes_have_the_same_ids_in_every_run():
    first, second = assess(music("1/2")), assess(music("1/5"))
    assert [mode.id for mode in first.modes] == [mode.id for mode in second.modes]
    assert all(len(mode.id) == 12 for mode in first.modes)


def test_answers_that_differ_in_numbers_and_quotes_fail_alike():
    answers = iter(["It is 12 o'clock.", "it  is 7 o'clock", "No idea"])
    result = run(
        "agent: a, success_ratio: 1/3, interactions: [{text: q, response: {text: {keywords: noon}}}]",
        Scripted(lambda body: said(next(answers))),
        parallel=1,
    )
    assert [len(mode.samples) for mode in assess(result).modes] == [2, 1]


def test_modes_can_be_named_and_merged():
    result = music("1/2")
    one, two = (mode.id for mode in assess(result).modes)
    found = assess(result, names={one: "Knows no Stones"}, merged={two: one})
    assert [(mode.name, len(mode.samples), mode.merged) for mode in found.modes] == [
        ("Knows no Stones", 4, [two])
    ]
    assert assess(result, merged={one: two, two: one}).failures == 4


def test_judge_connection_case_and_agent_are_told_apart():
    divided = judge_saying("pass", "fail", "fail", votes=3)
    keywords = "agent: a, interactions: [{text: q, response: {text: {%s}}}]"

    def faults(result):
        return [sample.fault for sample in samples_of(result)]

    assert faults(run(keywords % "keywords: x", says("no"))) == ["agent"]
    assert faults(run(keywords % "keywords: 3", says("no"))) == ["case"]
    assert faults(run(keywords % "gist: c", says("no"), judge=divided)) == ["judge"]
    assert faults(run(keywords % "gist: c", says("no"), judge=judge_saying("hm"))) == ["judge"]
    assert faults(run(keywords % "gist: c", says("no"))) == ["judge"]
    assert faults(run(keywords % "keywords: x", Scripted(lambda body: b"nonsense\n"))) == ["connection"]
    assert faults(run(keywords % "keywords: x", says("Error from a: down"))) == ["agent"]


def test_a_model_chooses_among_the_modes_there_are_or_names_a_new_one():
    asks = Asks("NEW: Names another band.", "1", "nonsense")
    found = assess(music("1/3"), choose=chooser(asks))
    gists = [mode for mode in found.modes if mode.samples[0].test == "gist"]
    assert sorted((mode.name, len(mode.samples)) for mode in gists)[0] == ("Names another band.", 2)
    assert sum(len(mode.samples) for mode in gists) == 3
    assert "(none yet)" in asks.prompts[0]
    assert "1. Names another band." in asks.prompts[1]


def test_choices_are_read_strictly():
    assert read_choice("2", ["a", "b"]) == "b"
    assert read_choice("3", ["a", "b"]) == read_choice("b", ["a", "b"]) == read_choice("", []) == ""
    assert read_choice("NEW: it  is\nso", []) == "it is so"


def test_the_sample_is_marked_off_in_the_question():
    sample = samples_of(music("1/1"))[0]
    prompt = choice_prompt(sample, ["a"])
    assert prompt.count(prompt.split("the mark ")[1].split(";")[0]) == 3


def test_the_text_is_laid_out_as_the_references():
    lines = text_report(assess(music("1/6"))).splitlines()
    assert lines[:3] == ["6/18 attempts passed.", "12/18 attempts failed.", "Modes of failure:"]
    assert "6/12 failures (50.00%):" in lines
    assert lines.count("Failure Mode:") == 2
    assert "Example 6:" in lines
    assert lines.count("Acceptance Criteria:") == 2
    one = "agent: a, interactions: [{text: q, response: {text: {keywords: x}}}]"
    assert "Tip" in text_report(assess(run(one, says("y"))))


def test_json_has_everything():
    data = json.loads(json.dumps(assess(music("1/2")).as_dict()))
    assert data["checks"] == {"passed": 2, "made": 6}
    assert [mode["share"] for mode in data["failure_modes"]] == [0.5, 0.5]
    assert data["failure_modes"][0]["faults"] == {"agent": 2}
