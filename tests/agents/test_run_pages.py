"""Pages of a suite's runs: start one, read outcomes, checks and transcripts, download them."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from django.urls import reverse

from gym.agents import presenters
from gym.agents.models import AgentRun, CaseRun
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from lmgym.agents.pass_rates import evidence
from tests.agents.site import FLAKY, GOOD, make_case, make_run, make_server, make_suite
from tests.once import once_a_module
from tests.page_text import text_of

BAD = "agent: echo\nsuccess_ratio: 2/3\ninteractions: [{text: hello, response: {text: {keywords: [hello, bye]}}}]\n"
built, people, finished = once_a_module(
    lambda people: make_run(
        make_suite(people.alice, cases={"good": GOOD, "bad": BAD, "flaky": FLAKY}), make_server(people.alice)
    )
)


@pytest.fixture
def alice(client, people):
    client.force_login(people.alice)
    return client


def test_a_run_is_queued_from_the_suite_whose_matrix_then_shows_rate_and_flaky_badge(alice, finished):
    suite = finished.suite
    AgentRun.objects.all().delete()
    page = text_of(alice.get(suite.get_absolute_url()))
    assert "Embedded" in page
    answer = alice.post(reverse("agent-suite-run", args=[suite.slug]), {"server": finished.server.pk})
    assert answer.url == AgentRun.objects.get().get_absolute_url()
    assert AgentRun.objects.get().state == "queued"
    run_pending()
    page = text_of(alice.get(suite.get_absolute_url()))
    assert "2/4" in page
    assert "(0.15 to 0.85)" in page
    assert page.count("badge-warn") >= 1
    assert "flaky" in page


def test_only_the_chosen_cases_run(alice, finished):
    suite = finished.suite
    given = {
        "server": finished.server.pk,
        "case": [make_case(suite, "bad").pk],
        "reading": "reference-compatible",
    }
    alice.post(reverse("agent-suite-run", args=[suite.slug]), given)
    run = AgentRun.objects.exclude(pk=finished.pk).get()
    assert [case_run.name for case_run in run.case_runs.all()] == ["bad"]
    assert run.options["reading"] == "reference-compatible"


def test_pages_of_a_run_show_rate_failures_transcripts_and_files(alice, finished):
    page = text_of(alice.get(finished.get_absolute_url()))
    assert evidence(2, 4, 0.5).verdict in page
    assert "<small>/3</small>" in page
    flaky = finished.case_runs.get(name="flaky")
    page = text_of(alice.get(flaky.get_absolute_url()))
    assert "Hello world" in page
    assert "Goodbye moon" in page
    assert "pass@k" in page
    why = page.partition('id="why"')[2].partition("</section>")[0]
    assert ("Goodbye moon" in why, "Hello world" in why) == (True, False)
    assert re.search(r'href="\?i=\d#transcripts"', why)
    kept = alice.get(reverse("agent-case-run-download", args=[finished.key, flaky.pk])).json()
    assert (kept["text"], len(kept["iterations"])) == (flaky.text, 4)
    rows = (
        alice.get(reverse("agent-run-download", args=[finished.key, "csv"])).getvalue().decode().splitlines()
    )
    assert rows[0].startswith("case,agent,iteration,outcome,")
    assert sum(row.startswith("flaky,") for row in rows) == 4
    page = text_of(alice.get(flaky.get_absolute_url(), {"i": ["1", "2", "3", "zz"]}))
    assert page.count('class="answer-head"') == 3
    answer = alice.get(reverse("agent-run-progress", args=[finished.key]))
    assert answer.status_code == 286


def test_every_check_shows_expected_actual_and_the_order_of_the_operands(alice, people, finished):
    """Passed checks are shown as well. The order of the operands depends on the run's reading."""
    text = "agent: echo, interactions: [{text: b, response: {text: {greater: a, value: [b, 'echo: b'], foo: 1}}}]"
    suite = make_suite(people.alice, "all", cases={"all": text.replace("'", '"')})
    for reading, order in (
        ("document", 'answer "echo: b" > expected "a"'),
        ("reference-compatible", 'expected "a" > answer "echo: b"'),
    ):
        case_run = make_run(suite, finished.server, reading=reading).case_runs.get()
        page = unescape(text_of(alice.get(case_run.get_absolute_url())))
        shown = [part.split("</details>")[0] for part in page.split('<details class="compared">')[1:]]
        assert [re.findall(r"<summary>(.*?)</summary>", one) for one in shown] == [
            [order],
            ['expected "b" == answer "echo: b"'],
            ['expected "echo: b" == answer "echo: b"'],
            ["not compared"],
        ]
        values = [re.findall(r"<dd>(?:<code>)?(.*?)(?:</code>)?</dd>", one) for one in shown]
        assert values[:3] == [[f'"{one}"', '"echo: b"'] for one in ("a", "b", "echo: b")]
        assert values[3][1] == "nothing"


def test_downloads_of_a_run(alice, finished):
    data = json.loads(alice.get(reverse("agent-run-download", args=[finished.key, "json"])).getvalue())
    assert {case["name"]: case["outcome"] for case in data["cases"]} == {
        "bad": "fail",
        "flaky": "pass",
        "good": "pass",
    }
    assert (data["run"], data["reading"]) == (finished.key, "document")
    xml = alice.get(reverse("agent-run-download", args=[finished.key, "junit"])).getvalue().decode()
    assert xml.count("<testsuite ") == 3


def test_failures_are_grouped_into_modes_on_the_page_and_in_files(alice, finished):
    bad = finished.case_runs.get(name="bad")
    assert "3 of 3 failures" in text_of(alice.get(bad.get_absolute_url()))
    files = [
        reverse("agent-failures-download", args=[finished.key, bad.pk, form]) for form in ("json", "text")
    ]
    [mode] = alice.get(files[0]).json()["failure_modes"]
    assert mode["count"] == 3
    assert alice.get(files[1]).content.decode().startswith("3/6 attempts passed.\n3/6 attempts failed.")


def test_the_page_of_a_failed_run_shows_the_error_and_what_is_kept(alice, finished):
    AgentRun.objects.update(completed_at=None)
    Job.objects.filter(pk=finished.job_id).update(state="failed", error="out of memory")
    CaseRun.objects.filter(run=finished, name="flaky").update(outcome="")
    page = text_of(alice.get(finished.get_absolute_url()))
    for text in (
        "The run failed.",
        "out of memory",
        "Resume",
        "Finished iterations are kept.",
        "not finished",
    ):
        assert text in page
    assert "cases passed" not in page


def test_a_run_shows_pass_hat_k_and_flaky_cases(alice, finished):
    page = text_of(alice.get(finished.get_absolute_url()))
    assert "pass^k" in page
    assert "Mean over" in page
    assert page.count("flaky") >= 1
    good = finished.case_runs.get(name="good")
    assert "Estimated from 1 iteration," in text_of(alice.get(good.get_absolute_url()))


def test_a_case_that_flips_between_runs_of_the_same_text_is_flaky(alice, finished):
    second = make_run(finished.suite, finished.server)
    assert not {row.case_run.name for row in presenters.rows_of(second) if row.flaky} - {"flaky"}
    CaseRun.objects.filter(run=finished, name="good").update(outcome="fail")
    assert {row.case_run.name for row in presenters.rows_of(second) if row.flaky} == {"flaky", "good"}
    CaseRun.objects.filter(run=finished, name="good").update(text="another")
    assert {row.case_run.name for row in presenters.rows_of(second) if row.flaky} == {"flaky"}


def test_answers_of_an_agent_are_escaped(alice, people, finished):
    polyglot = "<script>alert(1)</script>{{ 7*7 }}"
    text = (
        f"agent: echo\ninteractions: [{{text: '''{polyglot}''', response: {{text: {{keywords: \"<b>x\"}}}}}}]"
    )
    text = text.replace("'''", '"""')
    run = make_run(make_suite(people.alice, "xss", cases={"xss": text}), finished.server)
    for address in (
        run.get_absolute_url(),
        run.case_runs.get().get_absolute_url(),
        make_case(run.suite, "xss").get_absolute_url(),
    ):
        page = text_of(alice.get(address))
        assert "<script>alert" not in page
        assert "<b>x" not in page


def test_pages_write_values_as_json(alice, people, finished):
    text = "agent: echo\ninteractions: [{text: hi, response: {text: {value: true}}}]\n"
    run = make_run(make_suite(people.alice, "flags", cases={"flag": text}), finished.server)
    page = text_of(alice.get(run.case_runs.get().get_absolute_url()))
    assert "<code>true</code>" in page
    assert "True" not in page
