"""Errors of the server or the judge are not verdicts: they are counted separately and excluded from rates."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from gym.agents import actors, presenters, selectors
from gym.agents.charts import suite_trend
from gym.agents.comparing import compare_runs
from gym.agents.models import AgentRun
from lmgym.agents import reports
from lmgym.agents.assessor import assess, text_report
from lmgym.agents.pass_rates import evidence
from lmgym.agents.transport import TransportError
from tests.agents.site import make_run, make_server, make_suite
from tests.lmgym.agents.helpers import Scripted, judge_saying, run, said
from tests.page_text import text_of

TEN = 'agent: echo\nsuccess_ratio: "{needed}/10"\ninteractions: [{text: hello, response: {text: {keywords: ok}}}]\n'
DOWN = "down"


def answering(*answers: str) -> Scripted:
    """Return a transport that gives these answers in turn; DOWN is a connection error."""
    left = list(answers)

    def answer(body):
        text = left.pop(0)
        return TransportError("unreachable", "The server hung up.") if text == DOWN else said(text)

    return Scripted(answer)


def case_text(needed: int = 5) -> str:
    return TEN.replace("{needed}", str(needed))


NO_VERDICT = evidence(0, 0, 0.5, errors=10).verdict


@pytest.fixture
def make(people, monkeypatch):
    """`make("ok", "no", "down", …)` creates a run of ten iterations with these answers."""
    suite, server = make_suite(people.alice, cases={"case": case_text()}), make_server(people.alice)

    def made(*answers: str) -> AgentRun:
        monkeypatch.setattr(actors, "transport_for", lambda server: answering(*answers))
        return make_run(suite, server, parallel=1)

    return made


@pytest.fixture
def all_down(make) -> AgentRun:
    return make(*[DOWN] * 10)


@pytest.mark.parametrize(
    ("answers", "needed", "expected"),
    [
        (["ok"] * 5 + [DOWN] * 5, 5, ("pass", 5, 5, 5)),
        (["ok"] * 4 + ["no"] * 5 + [DOWN], 5, ("error", 4, 9, 1)),
        (["ok"] * 4 + ["no"] * 5 + [DOWN], 6, ("fail", 4, 9, 1)),
        (["no"] + [DOWN] * 9, 5, ("error", 0, 1, 9)),
        ([DOWN] * 10, 5, ("error", 0, 0, 10)),
        ([DOWN] * 10, 10, ("error", 0, 0, 10)),
    ],
)
def test_a_case_fails_only_where_its_errors_could_not_have_made_up_for_it(answers, needed, expected):
    result = run(case_text(needed), answering(*answers), parallel=1)
    assert (result.outcome, result.passed, result.n, result.errors) == expected


def test_an_iteration_that_failed_a_check_is_a_fail_whatever_broke_after_it():
    turn = "{text: q, response: {text: {keywords: ok}}}"
    result = run(f"agent: a, interactions: [{turn}, {turn}]", answering("no", DOWN))
    assert (result.outcome, result.n, result.errors) == ("fail", 1, 0)


def test_a_judge_without_a_verdict_leaves_the_rate():
    gist = "agent: a, success_ratio: 2/2, interactions: [{text: q, response: {text: {gist: kind}}}]"
    result = run(gist, answering("a", "b"), judge=judge_saying("perhaps"))
    assert (result.outcome, result.n, result.errors) == ("error", 0, 2)


def test_timeouts_count_as_not_passed():
    late = Scripted(lambda body: TransportError("timeout", "It took too long."))
    result = run(case_text(), late)
    assert (result.outcome, result.passed, result.n, result.errors) == ("timeout", 0, 10, 0)


def test_without_any_verdict_there_is_no_rate_on_any_page(client, all_down):
    case_run = all_down.case_runs.get()
    assert (case_run.outcome, case_run.passed, case_run.n, case_run.errors) == ("error", 0, 0, 10)
    pages = [
        all_down.get_absolute_url(),
        case_run.get_absolute_url(),
        case_run.case.get_absolute_url(),
        all_down.suite.get_absolute_url(),
        reverse("agent-runs"),
    ]
    for page in pages:
        told = text_of(client.get(page))
        assert "10 errors" in told, page
        for rate in ("0/10", "0/0", "0<small>/0", "0.28]", "0.00, ", "pass@k", "0 of 0"):
            assert rate not in told, (page, rate)
    assert NO_VERDICT in text_of(client.get(pages[0]))
    assert "no verdict" in text_of(client.get(pages[1]))


def test_some_errors_stand_beside_the_rate(client, make):
    found = make(*["ok"] * 3, *["no"] * 5, DOWN, DOWN)
    page = text_of(client.get(found.get_absolute_url()))
    assert "<b>3/8</b>" in page
    assert "(0.14 to 0.69)" in page
    assert "2 errors" in page
    assert "no verdict: 2 errors" in page, "with those two it would have been five"
    assert presenters.at_k_of_run(found)[0].any == 3 / 8


def test_the_api_tells_them_apart(client, all_down):
    run_of = client.get(reverse("api-agent-run", args=[all_down.key])).json()
    case = run_of["cases"][0]
    assert (case["outcome"], case["passed"], case["n"], case["errors"]) == ("error", 0, 0, 10)
    assert run_of["at_k"] == []


def test_files_tell_them_apart(client, all_down):
    address = ["agent-run-download", "agent-trend"]
    data = client.get(reverse(address[0], args=[all_down.key, "json"]))
    case = json.loads(b"".join(data.streaming_content))["cases"][0]
    assert (case["n"], case["errors"]) == (0, 10)
    junit = client.get(reverse(address[0], args=[all_down.key, "junit"]))
    assert f'message="{NO_VERDICT}, 5 needed"' in b"".join(junit.streaming_content).decode()
    query = {"suite": all_down.suite.slug, "case": all_down.suite.cases.get().pk}
    for kind in address[1:]:
        header, row = (
            client.get(reverse("figure", args=[kind, "csv"]), query).content.decode().splitlines()[-2:]
        )
        told = dict(zip(header.split(","), row.split(","), strict=True))
        assert [told[name] for name in ("n", "errors", "rate", "low")] == ["0", "10", "", ""], kind


def test_the_trend_has_no_point_without_a_verdict(people, make):
    first, _, third = make(*["ok"] * 10), make(*[DOWN] * 10), make(*["ok"] * 4, *["no"] * 4, DOWN, DOWN)
    figure = suite_trend(first.suite, people.alice)
    rows = [(row[0], row[4], row[5], row[6]) for row in figure.rows]
    assert rows == [(first.key, 10, 10, 0), (third.key, 4, 8, 2)]


def test_a_comparison_leaves_them_out_and_says_so(client, make, all_down):
    full = make(*["ok"] * 8, "no", DOWN)
    (pair,) = compare_runs(full, all_down).pairs
    rows, total = pair.cases, pair.total
    case = rows[0].comparison
    assert (case.first_passed, case.first_n, case.first_errors, case.second_errors) == (8, 9, 1, 10)
    assert (total.first_n, total.second_n, total.first_errors) == (0, 0, 0), "no case has a verdict in both"
    assert (total.difference, total.p, total.note) == (None, None, case.note)
    assert "no p" in total.note
    page = text_of(client.get(reverse("agent-compare"), {"a": full.key, "b": all_down.key}))
    assert "8/9, 1 error" in page
    assert NO_VERDICT in page
    answer = client.get(reverse("api-agent-compare"), {"first": full.key, "second": all_down.key}).json()
    assert answer["comparisons"][0]["cases"][0]["second_errors"] == 10


def test_errors_make_no_case_flaky(people, make):
    passed = make(*["ok"] * 10)
    make(*[DOWN] * 10)
    mixed = make(*["ok"] * 5, *[DOWN] * 5)
    assert not any(row.flaky for row in [*presenters.rows_of(passed), *presenters.rows_of(mixed)])
    assert not selectors.flaky(selectors.history_of(passed.suite.cases.get(), people.alice))


def test_the_command_line_and_the_assessment_say_it():
    none = run(case_text(), answering(*[DOWN] * 10))
    assert "no verdict: 10 errors, 5/10 needed" in reports.table([("case", none)])
    assert text_report(assess(none)).startswith("No verdict: 10 errors.\n")
    some = run(case_text(), answering(*["ok"] * 3, *["no"] * 5, DOWN, DOWN), parallel=1)
    assert "3/8 (0.14 to 0.69), 2 errors, 5/10 needed" in reports.table([("case", some)])
    told = text_report(assess(some))
    assert told.startswith("3/8 attempts passed.\n5/8 attempts failed.\n2 errors: attempts without a verdict")
    assert assess(some).as_dict()["iterations"] == {"passed": 3, "n": 8, "errors": 2}


def test_a_comparison_pools_the_cases_with_a_verdict_in_both(people, monkeypatch):
    """If all cases were pooled, a case with verdicts in only one run would count for that run alone."""
    suite = make_suite(people.alice, cases={"a": case_text(), "b": case_text()})
    server, runs = make_server(people.alice), []
    for answers in (["ok"] * 10 + ["no"] * 10, [DOWN] * 10 + ["no"] * 9 + [DOWN]):
        monkeypatch.setattr(actors, "transport_for", lambda server, said=answers: answering(*said))
        runs.append(make_run(suite, server, parallel=1))
    total = compare_runs(*runs).pairs[0].total
    assert (total.first_count, total.second_count, total.difference) == ("0/10", "0/9, 1 error", 0.0)
