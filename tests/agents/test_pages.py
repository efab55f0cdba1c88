"""Pages of agent tests: write, import, run, read results."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from django.urls import reverse

from gym.agents import presenters, selectors, services
from gym.agents.models import AgentCase, AgentRun, AgentServer, AgentSuite, CaseRun
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from lmgym.agents.pass_rates import evidence
from tests.agents.site import FLAKY, GOOD, make_case, make_run, make_server, make_suite
from tests.page_text import text_of

BAD = "agent: echo\nsuccess_ratio: 2/3\ninteractions: [{text: hello, response: {text: {keywords: [hello, bye]}}}]\n"


@pytest.fixture
def alice(client, people):
    client.force_login(people.alice)
    return client


# --- agents ---


def test_registering_an_agent_asks_it_who_it_is(alice):
    given = {"kind": "embedded", "name": "Mine", "visibility": "private", "secret_headers": ""}
    answer = alice.post(reverse("agent-server-new"), given)
    assert answer.status_code == 302
    run_pending()
    page = text_of(alice.get(answer.url))
    assert "math_guy" in page
    assert "lm-gym-embedded 1.0" in page
    assert "calculator" in page
    assert "Mine" in text_of(alice.get(reverse("model-list")))
    assert alice.get(reverse("model-detail", args=["mine"])).status_code in (200, 302)


def test_wrong_addresses_are_said_to_be_wrong_at_their_field(alice):
    given = {
        "kind": "server",
        "name": "Mine",
        "visibility": "private",
        "url": "ftp://x",
        "secret_headers": "",
    }
    answer = alice.post(reverse("agent-server-new"), given)
    assert answer.status_code == 400
    assert "must begin with http://" in text_of(answer)
    given |= {"url": "http://x.example.org", "secret_headers": "Host: x"}
    assert "cannot be the name of a header" in text_of(alice.post(reverse("agent-server-new"), given))
    assert AgentServer.objects.count() == 0


def test_secrets_are_never_shown_again(alice, people):
    url = "http://x.example.org"
    given = {
        "kind": "server",
        "name": "Mine",
        "visibility": "public",
        "url": url,
        "secret_headers": "X-Api-Key: hush-hush",
    }
    alice.post(reverse("agent-server-new"), given)
    server = AgentServer.objects.get()
    pages = [reverse("agent-server", args=["mine"]), reverse("agent-server-edit", args=["mine"])]
    for page in pages:
        shown = text_of(alice.get(page))
        assert "X-Api-Key" in shown
        assert "hush" not in shown
    alice.post(pages[1], {"url": url, "chat_model": "", "secret_headers": "X-Api-Key"})
    assert AgentServer.objects.get().secrets == server.secrets
    alice.post(pages[1], {"url": url, "chat_model": "", "secret_headers": ""})
    assert AgentServer.objects.get().secrets == {}


def test_strangers_see_neither_address_nor_names_of_secrets(client, people):
    secret = {"X-Api-Key": "hush"}
    server = make_server(
        people.alice, "open", kind="server", url="http://inside.example", ready=False, secret_headers=secret
    )
    page = text_of(client.get(server.get_absolute_url()))
    assert "inside.example" not in page
    assert "X-Api-Key" not in page


# --- suites and cases ---


def test_a_suite_and_a_case_are_written(alice):
    given = {
        "title": "My manners",
        "visibility": "private",
        "judge_votes": 1,
        "variable_lines": "KEY: hush-hush",
    }
    made = alice.post(reverse("agent-suite-new"), given, follow=True)
    assert "The suite was created. Next, write or import cases." in made.content.decode()
    suite = AgentSuite.objects.get()
    assert suite.slug == "my-manners"
    assert "hush" not in text_of(alice.get(reverse("agent-suite-edit", args=[suite.slug])))
    assert "agent: echo" in text_of(alice.get(reverse("agent-case-new", args=[suite.slug])))
    answer = alice.post(reverse("agent-case-new", args=[suite.slug]), {"name": "a/hello", "text": GOOD})
    case = AgentCase.objects.get()
    assert (answer.status_code, case.text, case.agent) == (302, GOOD, "echo")


def test_a_case_that_is_none_is_refused_with_line_and_path_and_nothing_is_lost(alice, people):
    suite = make_suite(people.alice)
    wrong = "agent: echo\ninteractions: [\n{txt: hi, continue_conversation: maybe}]"
    answer = alice.post(reverse("agent-case-new", args=[suite.slug]), {"name": "x", "text": wrong})
    page = text_of(answer)
    assert answer.status_code == 400
    assert "line 3, interactions[0].continue_conversation" in page
    assert "txt: hi" in page
    assert suite.cases.count() == 1


def test_a_text_is_checked_while_it_is_written(alice, people):
    suite = make_suite(people.alice)
    answer = alice.post(
        reverse("agent-case-check", args=[suite.slug]), {"text": GOOD.replace("keywords", "keyword")}
    )
    assert "0 checks in 1 turn" in text_of(answer)
    answer = alice.post(reverse("agent-case-check", args=[suite.slug]), {"text": 'include "/etc/passwd"'})
    assert "cannot include" in text_of(answer)
    assert suite.cases.get().text == GOOD


def test_a_suite_without_a_judge_is_said_to_have_none_where_gist_is_written(alice, people):
    suite = make_suite(people.alice)
    check = reverse("agent-case-check", args=[suite.slug])
    gist = {"text": GOOD.replace("keywords: hello", "gist: a greeting")}
    assert "This suite has no judge" in text_of(alice.post(check, gist))
    assert "has no judge" not in text_of(alice.post(check, {"text": GOOD}))
    AgentSuite.objects.update(judge=make_server(people.alice).model)
    assert "with verdicts by the suite" in text_of(alice.post(check, gist))


def test_a_case_is_edited_as_a_form(alice, people):
    suite = make_suite(people.alice, cases={"hello": GOOD + "metadata: {user_id: joe}\n"})
    address = reverse("agent-case-form", args=[suite.slug, make_case(suite).pk])
    page = text_of(alice.get(address))
    assert "hello" in page
    given = {
        "agent": "echo", "connections": "http, direct", "success_ratio": "2/3", "timeout_in_seconds": "20",
        "turn-text": ["hello there", "and now", ""], "turn-response": ["text: {keywords: [hello, there]}", "", ""],
        "turn-sly_data": ["x: 3", "", ""], "turn-timeout_in_seconds": ["", "1.5", ""],
        "turn-continue_conversation": ["no", "yes", "yes"], "name": "hello", "check-count": "0",
    }  # fmt: skip
    assert alice.post(address, given).status_code == 302
    read, _ = make_case(suite).parse()
    assert read is not None
    assert (read.ratio.text, read.connections, read.timeout) == ("2/3", ("http", "direct"), 20.0)
    assert [turn.text for turn in read.interactions] == ["hello there", "and now"]
    assert [turn.continues for turn in read.interactions] == [False, True]
    assert read.interactions[0].sly_data == {"x": 3}
    assert read.metadata == {"user_id": "joe"}
    given["turn-response"][0] = "text: {keywords: "
    answer = alice.post(address, given)
    assert answer.status_code == 400
    assert make_case(suite).parse()[0] == read


def test_cases_with_variables_have_no_form_and_comments_are_warned_about(alice, people):
    text = "agent: echo # who\ninteractions: [{text: ${?KEY}}]"
    suite = make_suite(
        people.alice, cases={"key": text, "comment": "# c\n" + GOOD}, variables={"KEY": "hush-hush"}
    )
    page = text_of(alice.get(reverse("agent-case-form", args=[suite.slug, make_case(suite, "key").pk])))
    assert "uses variables" in page
    page = text_of(alice.get(reverse("agent-case-form", args=[suite.slug, make_case(suite, "comment").pk])))
    assert "remove its comments" in page


# --- runs ---


@pytest.fixture
def finished(people):
    suite = make_suite(people.alice, cases={"good": GOOD, "bad": BAD, "flaky": FLAKY})
    return make_run(suite, make_server(people.alice))


def test_the_matrix_shows_the_newest_result_and_the_flaky_badge(alice, people):
    suite = make_suite(people.alice, cases={"good": GOOD, "bad": BAD, "flaky": FLAKY})
    make_server(people.alice)
    page = text_of(alice.get(suite.get_absolute_url()))
    assert "Embedded" in page
    answer = alice.post(
        reverse("agent-suite-run", args=[suite.slug]), {"server": AgentServer.objects.get().pk}
    )
    assert answer.url == AgentRun.objects.get().get_absolute_url()
    assert AgentRun.objects.get().state == "queued"
    run_pending()
    page = text_of(alice.get(suite.get_absolute_url()))
    assert "2/4" in page
    assert "(0.15 to 0.85)" in page
    assert page.count("badge-warn") >= 1
    assert "flaky" in page


def test_only_the_chosen_cases_run(alice, people):
    suite = make_suite(people.alice, cases={"good": GOOD, "bad": BAD})
    server = make_server(people.alice)
    given = {"server": server.pk, "case": [make_case(suite, "bad").pk], "reading": "reference-compatible"}
    alice.post(reverse("agent-suite-run", args=[suite.slug]), given)
    run = AgentRun.objects.get()
    assert [case_run.name for case_run in run.case_runs.all()] == ["bad"]
    assert run.options["reading"] == "reference-compatible"


def test_pages_of_a_run(alice, finished):
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


def test_every_check_shows_expected_actual_and_the_order_of_the_operands(alice, people):
    """Passed checks are shown as well. The order of the operands depends on the run's reading."""
    text = "agent: echo, interactions: [{text: b, response: {text: {greater: a, value: [b, 'echo: b'], foo: 1}}}]"
    suite, server = make_suite(people.alice, cases={"all": text.replace("'", '"')}), make_server(people.alice)
    for reading, order in (
        ("document", 'answer "echo: b" > expected "a"'),
        ("reference-compatible", 'expected "a" > answer "echo: b"'),
    ):
        case_run = make_run(suite, server, reading=reading).case_runs.get()
        page = unescape(text_of(alice.get(case_run.get_absolute_url())))
        shown = [part.split("</details>")[0] for part in page.split('<details class="compared">')[1:]]
        assert [re.findall(r"<summary>(.*?)</summary>", one) for one in shown] == [
            [order],
            ['expected "b" == answer "echo: b"'],
            ['expected "echo: b" == answer "echo: b"'],
            ["not compared"],
        ]
        told = [re.findall(r"<dd>(?:<code>)?(.*?)(?:</code>)?</dd>", one) for one in shown]
        assert told[:3] == [[f'"{one}"', '"echo: b"'] for one in ("a", "b", "echo: b")]
        assert told[3][1] == "nothing"


def test_direct_has_a_note_on_the_case_and_while_it_is_written(alice, people):
    note = "“direct” does not run the agent in the same process here: it calls the chosen server"
    direct, http = (
        GOOD.replace("agent: echo", f"agent: echo\nconnections: {name}") for name in ("direct", "http")
    )
    suite = make_suite(people.alice, cases={"direct": direct, "http": http})
    for name, text, there in (("direct", direct, True), ("http", http, False)):
        case = make_case(suite, name)
        assert (note in text_of(alice.get(case.get_absolute_url()))) is there
        assert (note in text_of(alice.get(reverse("agent-case-edit", args=[suite.slug, case.pk])))) is there
        checked = alice.post(reverse("agent-case-check", args=[suite.slug]), {"text": text})
        assert (note in text_of(checked)) is there


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


def test_the_page_of_a_failed_run_says_why_and_what_is_kept(alice, finished):
    AgentRun.objects.update(completed_at=None)
    Job.objects.filter(pk=finished.job_id).update(state="failed", error="out of memory")
    CaseRun.objects.filter(run=finished, name="flaky").update(outcome="")
    page = text_of(alice.get(finished.get_absolute_url()))
    for said in (
        "The run failed.",
        "out of memory",
        "Resume",
        "Finished iterations are kept.",
        "not finished",
    ):
        assert said in page
    assert "cases passed" not in page


def test_a_run_says_what_k_iterations_would_do_and_which_cases_are_flaky(alice, finished):
    page = text_of(alice.get(finished.get_absolute_url()))
    assert "pass^k" in page
    assert "Mean over" in page
    assert page.count("flaky") >= 1
    good = finished.case_runs.get(name="good")
    assert "Estimated from 1 iteration," in text_of(alice.get(good.get_absolute_url()))


def test_a_case_that_flips_between_runs_of_its_text_is_flaky_there_too(alice, finished):
    second = make_run(finished.suite, finished.server)
    assert not {row.case_run.name for row in presenters.rows_of(second) if row.flaky} - {"flaky"}
    CaseRun.objects.filter(run=finished, name="good").update(outcome="fail")
    assert {row.case_run.name for row in presenters.rows_of(second) if row.flaky} == {"flaky", "good"}
    CaseRun.objects.filter(run=finished, name="good").update(text="another")
    assert {row.case_run.name for row in presenters.rows_of(second) if row.flaky} == {"flaky"}


def test_the_matrix_tells_versions_of_an_agent_apart(alice, finished):
    address = finished.suite.get_absolute_url()
    assert "by version" not in text_of(alice.get(address))
    AgentRun.objects.update(server_version="old 0.9")
    make_run(finished.suite, finished.server)
    assert "by version" in text_of(alice.get(address))
    page = text_of(alice.get(address, {"by": "version"}))
    assert page.index("lm-gym-embedded 1.0</span>") < page.index("old 0.9</span>")
    columns, rows = selectors.matrix(finished.suite, finished.owner, by_version=True)
    assert [column.version for column in columns] == ["lm-gym-embedded 1.0", "old 0.9"]
    assert all(cell.newest for row in rows for cell in row.cells)


def test_the_trend_is_drawn_from_two_runs_on_and_has_its_numbers(alice, finished):
    suite = finished.suite
    figure = reverse("figure", args=["agent-suite-trend", "json"])
    assert "Over time" not in text_of(alice.get(suite.get_absolute_url()))
    assert alice.get(figure, {"suite": suite.slug}).status_code == 404
    second = make_run(suite, finished.server)
    make_run(suite, finished.server, cases=[make_case(suite, "good")])  # other cases: not comparable
    services.queue_rescoring(second, actor=suite.owner)
    run_pending()
    assert "Over time" in text_of(alice.get(suite.get_absolute_url()))
    data = alice.get(figure, {"suite": suite.slug}).json()
    assert [row[0] for row in data["rows"]] == [finished.key, second.key]
    assert data["rows"][0][4:8] == [3, 8, 0, 0.375]
    svg = alice.get(reverse("figure", args=["agent-suite-trend", "svg"]), {"suite": suite.slug})
    assert svg.content.startswith(b"<svg")


def test_two_runs_are_compared(alice, finished):
    second = make_run(finished.suite, finished.server)
    answer = alice.get(reverse("agent-compare"), {"a": finished.key, "b": second.key})
    assert "1.000" in text_of(answer)
    assert alice.get(reverse("agent-compare"), {"a": finished.key, "b": "nosuch"}).status_code == 404


def test_answers_are_scored_again_from_the_page(alice, finished):
    answer = alice.post(reverse("agent-run-rescore", args=[finished.key]))
    run_pending()
    again = AgentRun.objects.get(rescored_from=finished)
    assert answer.url == again.get_absolute_url()
    assert "stored answers" in text_of(alice.get(answer.url))
    outcomes = [row.outcome for row in again.case_runs.all()]
    assert outcomes == [row.outcome for row in finished.case_runs.all()]


def test_what_an_agent_says_is_only_text(alice, people):
    polyglot = "<script>alert(1)</script>{{ 7*7 }}"
    text = (
        f"agent: echo\ninteractions: [{{text: '''{polyglot}''', response: {{text: {{keywords: \"<b>x\"}}}}}}]"
    )
    text = text.replace("'''", '"""')
    run = make_run(make_suite(people.alice, cases={"xss": text}), make_server(people.alice))
    for address in (
        run.get_absolute_url(),
        run.case_runs.get().get_absolute_url(),
        make_case(run.suite, "xss").get_absolute_url(),
    ):
        page = text_of(alice.get(address))
        assert "<script>alert" not in page
        assert "<b>x" not in page


def test_lists_take_few_queries(alice, finished, django_assert_max_num_queries):
    with django_assert_max_num_queries(13):  # including two for session and user
        alice.get(finished.suite.get_absolute_url())
    with django_assert_max_num_queries(12):
        alice.get(finished.get_absolute_url())
    with django_assert_max_num_queries(10):
        alice.get(reverse("agent-home"))


def test_scoring_again_is_marked_in_the_history_of_a_case_and_is_no_point_of_its_trend(alice, finished):
    services.queue_rescoring(finished, actor=finished.owner)
    make_run(finished.suite, finished.server)
    run_pending()
    case = finished.suite.cases.first()
    assert text_of(alice.get(case.get_absolute_url())).count('<span class="sub">scored again</span>') == 1
    query = {"suite": finished.suite.slug, "case": case.pk}
    table = alice.get(reverse("figure", args=["agent-trend", "csv"]), query).content.decode()
    assert len(table.splitlines()) == 1 + 2
    drawn = text_of(alice.get(reverse("figure", args=["agent-trend", "svg"]), query))
    labels = set(re.findall(r">(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: \(\d\))?)<", drawn))
    assert len(labels) == 2, "both of one minute"


def test_pages_write_values_as_json(alice, people):
    text = "agent: echo\ninteractions: [{text: hi, response: {text: {value: true}}}]\n"
    run = make_run(
        make_suite(people.alice, "flags", cases={"flag": text}), make_server(people.alice, "flagged")
    )
    page = text_of(alice.get(run.case_runs.get().get_absolute_url()))
    assert "<code>true</code>" in page
    assert "True" not in page


def test_the_runs_of_a_case_are_labelled_by_their_time_and_the_key_names_the_server(client, people):
    tests, server = make_suite(people.alice), make_server(people.alice, name="Our server")
    make_run(tests, server)
    query = {"suite": tests.slug, "case": tests.cases.first().pk}
    drawn = text_of(client.get(reverse("figure", args=["agent-trend", "svg"]), query))
    labels = re.findall(r"<text[^>]*>([^<]+)</text>", drawn)
    assert labels.count("Our server") == 1
    assert len([label for label in labels if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", label)]) == 1
