"""Scoring stored answers again: same verdicts, no secrets, the current ratio, and no repeated cost."""

from __future__ import annotations

import json

import pytest

from gym.agents import actors, services
from gym.agents.models import AgentRun, AgentSuite, CaseIteration, CaseRun
from gym.jobs import states
from gym.jobs.context import JobContext
from gym.jobs.testing import run_pending
from lmgym.agents import reports
from lmgym.agents.case_reader import read_case
from lmgym.agents.driver import Options, run_case
from lmgym.agents.redact import redactor
from lmgym.agents.scoring import NOT_COMPARABLE, rescore
from tests.agents.site import FLAKY, GOOD, make_case, make_run, make_server, make_suite
from tests.lmgym.agents.helpers import Scripted, outcomes, said, says
from tests.once import once_a_module

SECRET = "hush-hush"
NAMES_IT = "agent: echo\ninteractions: [{text: ${KEY}, response: {text: {keywords: ${KEY}}}}]"


built, people, server = once_a_module(lambda people: make_server(people.alice))


def again(run: AgentRun, **options: bool) -> AgentRun:
    made = services.queue_rescoring(run, actor=run.suite.owner, **options)
    run_pending()
    return AgentRun.objects.get(pk=made.pk)


def change(suite: AgentSuite, text: str) -> None:
    case = make_case(suite)
    case.text = text
    services.save_case(case, actor=suite.owner)


def test_a_case_that_names_a_variable_gets_the_same_verdict_and_shows_it_to_nobody(people, server, client):
    suite = make_suite(people.alice, variables={"KEY": SECRET}, cases={"hello": NAMES_IT})
    first = make_run(suite, server)
    second = again(first)
    assert [run.case_runs.get().outcome for run in (first, second)] == ["pass", "pass"]
    for address in ("json", "junit"):
        seen = client.get(f"/agents/runs/{second.key}/download/{address}/")
        assert (seen.status_code, SECRET in seen.getvalue().decode()) == (200, False)
    page = client.get(second.case_runs.get().get_absolute_url()).content.decode()
    assert "•••" in page
    assert SECRET not in page
    assert SECRET not in json.dumps(list(CaseIteration.objects.values_list("data", flat=True)))


def test_a_case_that_expects_the_variable_to_stay_away_gets_the_same_verdict(people, server):
    text = NAMES_IT.replace("keywords", "not_keywords")
    suite = make_suite(people.alice, variables={"KEY": SECRET}, cases={"hello": text})
    first = make_run(suite, server)
    assert [run.case_runs.get().outcome for run in (first, again(first))] == ["fail", "fail"]


def test_a_secret_written_into_a_changed_case_is_not_stored_either(people, server):
    suite = make_suite(people.alice, variables={"KEY": SECRET}, cases={"hello": NAMES_IT})
    first = make_run(suite, server)
    change(suite, NAMES_IT.replace("keywords: ${KEY}", f"keywords: {SECRET}"))
    scored = again(first).case_runs.get()
    assert scored.outcome == "pass"
    assert SECRET not in json.dumps([result.as_dict() for result in scored.results()])


def test_a_new_value_of_the_variable_changes_no_verdict(people, server):
    suite = make_suite(people.alice, variables={"KEY": SECRET}, cases={"hello": NAMES_IT})
    first = make_run(suite, server)
    services.save_suite(suite, actor=people.alice, variables={"KEY": "another one"})
    assert again(first).case_runs.get().outcome == "pass"


def test_of_several_variables_nobody_can_say_which_one_was_hidden():
    turn = "{text: q, response: {text: {keywords: ${A}, not_keywords: ${B}}, structure: {k: {value: 1}}}}"
    values = {"A": "first-secret", "B": "second-secret"}
    case = read_case(f"agent: a, interactions: [{turn}]", values)
    hidden = tuple(values.values())
    before = run_case(
        case, says("it is second-secret", structure={"k": 1}), None, Options(secrets=hidden)
    ).iterations[0]
    assert outcomes(before) == ["fail", "fail", "pass"]
    after = rescore(case, before, None, "document", redactor(hidden))
    assert outcomes(after) == ["error", "error", "pass"]
    assert after.checks[0].message == NOT_COMPARABLE


def test_a_variable_that_the_case_named_before_may_be_what_was_hidden(people, server):
    suite = make_suite(
        people.alice, variables={"A": "first-secret", "B": "second-secret"},
        cases={"hello": "agent: echo\ninteractions: [{text: ${A}, response: {text: {keywords: ${A}}}}]"},
    )  # fmt: skip
    first = make_run(suite, server)
    assert first.case_runs.get().outcome == "pass"
    change(suite, "agent: echo\ninteractions: [{text: hi, response: {text: {keywords: ${B}}}}]")
    assert again(first).case_runs.get().outcome == "error"


@pytest.mark.parametrize(
    ("test", "text"), [("less", "zz hush-hush"), ("not_greater", "aa"), ("greater", SECRET)]
)
def test_the_order_of_what_is_hidden_is_told_to_nobody(test, text):
    case = read_case(
        f"agent: a, interactions: [{{text: q, response: {{text: {{{test}: ${{KEY}}}}}}}}]", {"KEY": SECRET}
    )
    before = run_case(case, says(text), None, Options(secrets=(SECRET,))).iterations[0]
    assert outcomes(before) == ["error"]
    assert outcomes(rescore(case, before, None, "document", redactor([SECRET]))) == ["error"]


def test_a_secret_told_as_a_number_is_not_the_text():
    turn = "{text: q, response: {structure: {pin: {value: ${PIN}}}}}"
    case = read_case(f"agent: a, interactions: [{turn}]", {"PIN": "5005"})
    before = run_case(case, says("x", structure={"pin": 5005}), None, Options(secrets=("5005",))).iterations[
        0
    ]
    assert outcomes(before) == ["fail"]
    assert outcomes(rescore(case, before, None, "document", redactor(["5005"]))) == ["error"]


def test_what_became_a_variable_since_is_hidden_in_the_answers_as_well(people, server):
    suite = make_suite(people.alice, cases={"hello": GOOD.replace("hello", SECRET)})
    first = make_run(suite, server)
    services.save_suite(suite, actor=people.alice, variables={"KEY": SECRET})
    change(suite, NAMES_IT)
    scored = again(first).case_runs.get()
    assert scored.outcome == "pass"
    assert SECRET not in json.dumps([result.as_dict() for result in scored.results()])


@pytest.mark.parametrize("word", ["pass", "fail", "error"])
def test_a_variable_that_is_a_word_of_ours_changes_no_verdict(people, server, word):
    turn = "{text: ${KEY}, response: {text: {gist: Mentions 'echo'}}}"
    suite = make_suite(
        people.alice, variables={"KEY": word}, cases={"hello": f"agent: echo\ninteractions: [{turn}]"},
        judge=server.model, judge_agent="judge",
    )  # fmt: skip
    first = make_run(suite, server)
    for made in (first, again(first)):
        check = made.case_runs.get().results()[0].checks[0]
        assert (check.outcome, check.judge["verdict"]) == ("pass", "pass")


def test_private_data_that_were_compared_with_a_variable_get_the_same_verdict():
    turn = "{text: q, response: {sly_data: {key: {value: ${KEY}}}}}"
    case = read_case(f"agent: a, interactions: [{turn}]", {"KEY": SECRET})
    transport = says("x", sly_data={"key": SECRET, "other": "private"})
    before = run_case(case, transport, None, Options(secrets=(SECRET,))).iterations[0]
    once = rescore(case, before, None, "document", redactor([SECRET]))
    twice = rescore(case, once, None, "document", redactor([SECRET]))
    assert outcomes(before) == outcomes(once) == outcomes(twice) == ["pass"]
    other = read_case("agent: a, interactions: [{text: q, response: {sly_data: {other: {value: private}}}}]")
    unknown = rescore(other, before, None, "document", redactor([SECRET]))
    assert outcomes(unknown) == outcomes(rescore(other, unknown, None, "document", redactor([]))) == ["error"]


def test_a_ratio_that_wants_fewer_iterations_is_about_the_first_of_them(people, server, monkeypatch):
    suite = make_suite(people.alice, cases={"hello": FLAKY})
    answers = iter(["world", "no", "no", "world"])
    monkeypatch.setattr(actors, "transport_for", lambda server: Scripted(lambda body: said(next(answers))))
    first = make_run(suite, server, parallel=1)
    assert first.case_runs.get().outcome == "pass"
    change(suite, FLAKY.replace("2/4", "2/2"))
    second = again(first)
    scored = second.case_runs.get()
    assert (scored.outcome, scored.passed, scored.n) == ("fail", 1, 2)
    assert (second.job.done, second.job.total) == (2, 2)


def test_a_ratio_that_wants_more_iterations_than_there_are_is_not_decided(people, server):
    suite = make_suite(people.alice, cases={"hello": GOOD})
    first = make_run(suite, server)
    change(suite, 'success_ratio: "2/3"\n' + GOOD)
    scored = again(first).case_runs.get()
    assert (scored.outcome, scored.passed, scored.n) == ("skipped", 1, 1)


def test_how_far_it_is_is_told_while_it_runs(people, server, monkeypatch):
    suite = make_suite(people.alice, cases={"hello": FLAKY})
    new = services.queue_rescoring(make_run(suite, server), actor=people.alice)
    told = []
    context = JobContext(states.claim_next(services.QUEUE, "worker-1"))
    monkeypatch.setattr(context, "progress", lambda done, unit: told.append((done, unit)))
    actors.agent_rescore(context)
    assert told == [(n, "iterations") for n in (1, 2, 3, 4)]
    assert AgentRun.objects.get(pk=new.pk).is_done


def test_the_tokens_of_the_earlier_run_are_not_its_own(people, server):
    turn = "{text: Yellow Submarine, response: {text: {gist: Mentions 'Beatles'}}}"
    text = f"agent: music_nerd\ninteractions: [{turn}]"
    suite = make_suite(people.alice, cases={"hello": text}, judge=server.model, judge_agent="judge")
    first = make_run(suite, server)
    assert first.case_runs.get().tokens["total_tokens"] > 0
    scored = again(first).case_runs.get()
    assert (scored.tokens["total_tokens"], scored.tokens["total_cost"]) == (0, 0)
    assert 'name="total_tokens" value="0"' in reports.junit([("hello", scored.result())])
    judged = again(first, ask_judge=True).case_runs.get()
    cost_of_the_judge = judged.results()[0].checks[0].judge["tokens"]["total_tokens"]
    assert judged.tokens["total_tokens"] == cost_of_the_judge > 0
    assert CaseRun.objects.get(pk=first.case_runs.get().pk).tokens == first.case_runs.get().tokens
