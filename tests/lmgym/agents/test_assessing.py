"""Failures grouped into modes, without a model and with a model that assigns them."""

from __future__ import annotations

import json

import pytest

from lmgym.agents.assessor import (
    assess,
    can_be_named,
    choice_prompt,
    choices,
    chooser,
    group_id,
    read_choice,
    samples_of,
    text_report,
)
from lmgym.agents.case_reader import read_case
from lmgym.agents.demo_server import DemoTransport
from lmgym.agents.driver import Options, run_case
from lmgym.agents.llm_judge import AgentJudge, VotingJudge
from lmgym.agents.redact import redactor
from lmgym.agents.results import CaseResult
from lmgym.agents.scoring import rescore
from lmgym.agents.transport import TransportError
from tests.lmgym.agents.helpers import Scripted, ScriptedJudge, judge_saying, run, said, says

TWO = 'agent: music_nerd, success_ratio: "%s", interactions: [{text: "Who did Yellow Submarine?", response: {text: {'
CASE = TWO + "gist: [\"Mentions 'Beatles'\", \"Mentions 'Stones'\"], keywords: zzz}}}]"


def music(ratio: str):
    return run(CASE % ratio, DemoTransport(), judge=VotingJudge(AgentJudge(DemoTransport(), "judge")))


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


TALK = (
    "agent: a, success_ratio: 2/2, interactions: [{text: hello}, {text: q, response: {text: {keywords: x}}}]"
)


def modes(result):
    return [(mode.name, mode.faults, len(mode.samples)) for mode in assess(result).modes]


def test_an_iteration_that_breaks_before_a_check_is_a_failure_too():
    """The first turn has no checks; they come in later turns."""
    down = run(TALK, Scripted(lambda body: TransportError("status", "The server answered 500.")))
    assert modes(down) == [("Turn 1: The server answered 500.", {"connection": 2}, 2)]
    late = run(TALK, Scripted(lambda body: TransportError("timeout", "It took too long.")))
    assert modes(late) == [("Turn 1: It took too long.", {"connection": 2}, 2)]
    grpc = run(TALK.replace("agent: a", "agent: a, connections: grpc"), says("x"))
    assert [faults for _, faults, _ in modes(grpc)] == [{"case": 1}]
    closed = run(TALK, Scripted(lambda body: TransportError("refused", "This site does not talk to it.")))
    assert [faults for _, faults, _ in modes(closed)] == [{"connection": 2}]
    assert modes(run("agent: a", says("x"))) == [("Turn 1: The case has no interactions.", {"case": 1}, 1)]
    assert assess(down).modes[0].id != assess(late).modes[0].id
    assert text_report(assess(down)).startswith("No verdict: 2 errors.\nModes of failure:")
    assert "an answer to every turn" in text_report(assess(down))


def test_iterations_that_failed_a_check_are_not_counted_twice():
    answers = iter(["hi", TransportError("status", "The server answered 500.")])
    text = "agent: a, interactions: [{text: q, response: {text: {keywords: x}}}, {text: r}]"
    result = run(
        text,
        Scripted(lambda body: answer if isinstance(answer := next(answers), Exception) else said(answer)),
    )
    assert result.iterations[0].outcome == "fail"
    assert assess(result).failures == 1


def test_whose_fault_it_is_is_decided_by_what_became_of_the_turn_and_not_by_words():
    less = "agent: a, interactions: [{text: q, response: {structure: {n: {less: 3}}}}]"
    missing = run(less, says("no number"), "reference-compatible")
    assert [check.outcome for check in missing.iterations[0].checks] == ["error"]
    assert modes(missing)[0][1] == {"agent": 1}, "it answered, without the value"
    keywords = "agent: a, interactions: [{text: q, response: {text: {keywords: zzz}}}]"
    words = "The judge and the agent reported: Expected value and answer"
    broken = run(keywords, Scripted(lambda body: TransportError("status", words)))
    assert modes(broken)[0][1] == {"connection": 1}
    assert modes(run(keywords, says(words)))[0][1] == {"agent": 1}


def test_what_was_not_kept_is_nobodys_fault_but_the_sites():
    case = "agent: a, interactions: [{text: q, sly_data: {x: 1}, response: {sly_data: {x: {value: 1}}}}]"
    before = run(case, says("hm", sly_data={"x": 1, "y": 2})).iterations[0]
    changed = read_case(case.replace("{x: {value", "{y: {value"))
    again = rescore(changed, before, None, "document", redactor([]))
    assert again.outcome == "error"
    result = CaseResult("a", changed.ratio, "document", (again,))
    assert modes(result)[0][1] == {"site": 1}


def test_what_is_hidden_in_the_transcript_is_nobodys_fault_but_the_sites():
    turn = "{text: q, response: {text: {keywords: ${A}, not_keywords: ${B}}}}"
    values = {"A": "first-secret", "B": "second-secret"}
    case = read_case(f"agent: a, interactions: [{turn}]", values)
    hidden = tuple(values.values())
    before = run_case(case, says("it is first-secret"), None, Options(secrets=hidden)).iterations[0]
    again = rescore(case, before, None, "document", redactor(hidden))
    result = CaseResult("a", case.ratio, "document", (again,))
    assert [faults for _, faults, *_ in modes(result)] == [{"site": 1}, {"site": 1}]


def named(result, judge_model, known=None):
    made = list(choices(samples_of(result), {} if known is None else known, chooser(judge_model)))
    places = {choice.place: choice.mode for choice in made if choice.mode}
    return made, assess(result, names={c.mode: c.name for c in made if c.mode}, chosen=places)


def says_differently(n: int):
    """Run n iterations that fail one text check, each with a different answer."""
    answers = iter(["alpha one", "beta two", "gamma three", "delta four"])
    turn = "{text: q, response: {text: {keywords: noon}}}"
    text = f"agent: a, success_ratio: 1/{n}, interactions: [{turn}]"
    return run(text, Scripted(lambda body: said(next(answers))), parallel=1)


def test_a_model_chooses_among_the_modes_there_are_or_names_a_new_one():
    judge_model = ScriptedJudge("NEW: It names a Greek letter.", "1", "nonsense")
    made, found = named(says_differently(3), judge_model)
    assert sorted((mode.name, len(mode.samples)) for mode in found.modes) == [
        ("It names a Greek letter.", 2),
        ('Turn 1, text.keywords: expected "noon", got "gamma three"', 1),
    ]
    assert [choice.new for choice in made] == [True, False, False]
    assert "(none yet)" in judge_model.prompts[0]
    assert "The text contains: noon" in judge_model.prompts[0]
    assert "1. It names a Greek letter." in judge_model.prompts[1]


@pytest.mark.parametrize(
    ("check", "criterion"),
    [
        ('regex: ["no+n"]', "The text matches the regex: no+n"),
        ("json_schema: [{type: object}]", 'The text fits the JSON Schema: {"type": "object"}'),
    ],
)
def test_the_prompt_states_the_criterion_of_every_check(check, criterion):
    result = run(
        "agent: a, interactions: [{text: q, response: {text: {CHECK}}}]".replace("CHECK", check), says("7")
    )
    judge_model = ScriptedJudge("NEW: It is a number.")
    named(result, judge_model)
    assert f"Criterion:\n{criterion}\n" in judge_model.prompts[0]


def test_equal_answers_are_asked_about_once():
    judge_model = ScriptedJudge("NEW: Names another band.")
    _, found = named(music("1/3"), judge_model)
    assert [len(mode.samples) for mode in found.modes] == [3, 3]
    assert {mode.name for mode in found.modes} == {"Names another band."}
    assert len(judge_model.prompts) == 2, "one answer, but two checks that it fails"


def test_what_was_named_before_is_offered_again_and_keeps_its_id():
    known: dict = {}
    _, first = named(says_differently(2), ScriptedJudge("NEW: It names a Greek letter.", "1"), known)
    _, second = named(says_differently(3), ScriptedJudge("1"), known)
    assert [mode.id for mode in first.modes] == [mode.id for mode in second.modes]
    assert list(known) == [group_id(samples_of(says_differently(1))[0])]


def test_a_model_that_does_not_answer_leaves_the_groups_as_they_are_and_says_why():
    result = says_differently(2)
    made, found = named(result, ScriptedJudge(TransportError("timeout", "too slow")))
    assert [(choice.mode, choice.trouble) for choice in made] == [("", "too slow"), ("", "too slow")]
    assert [mode.id for mode in found.modes] == [mode.id for mode in assess(result).modes]


def test_faults_of_judge_case_and_connection_are_not_named():
    keywords = "agent: a, interactions: [{text: q, response: {text: {%s}}}]"
    results = [
        run(keywords % "keywords: 3", says("no")),
        run(keywords % "gist: c", says("no"), judge=judge_saying("hm")),
        run(keywords % "keywords: x", Scripted(lambda body: b"nonsense\n")),
        run(keywords % "keywords: x", says(None)),
    ]
    assert not any(can_be_named(sample) for result in results for sample in samples_of(result))


def test_the_embedded_namer_names_and_chooses():
    ask = AgentJudge(DemoTransport(), "namer")
    made = list(choices(samples_of(says_differently(3)), {}, chooser(ask)))
    assert [choice.name for choice in made] == [
        "It speaks of ‘alpha’.",
        "It speaks of ‘beta’.",
        "It speaks of ‘gamma’.",
    ]
    known = {made[0].group: {choice.mode: choice.name for choice in made}}
    again = list(choices(samples_of(says_differently(3)), known, chooser(ask)))
    assert [choice.mode for choice in again] == [choice.mode for choice in made]
    assert not any(choice.new for choice in again)


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
    assert data["checks"] == {"passed": 2, "n": 6, "errors": 0}
    assert [mode["share"] for mode in data["failure_modes"]] == [0.5, 0.5]
    assert data["failure_modes"][0]["faults"] == {"agent": 2}
