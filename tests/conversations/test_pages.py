"""Pages of agent tests: writing, importing, running, reading and assessing."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.urls import reverse

from gym.conversations.archives import MAX_FILES, ArchiveError, read_archive, write_archive
from gym.conversations.models import AgentCase, AgentRun, AgentServer, AgentSuite, FailureMode
from gym.jobs.testing import run_pending
from tests.conversations.site import FLAKY, GOOD, make_case, make_run, make_server, make_suite

BAD = "agent: echo\nsuccess_ratio: 2/3\ninteractions: [{text: hello, response: {text: {keywords: [hello, bye]}}}]\n"


@pytest.fixture
def alice(client, people):
    client.force_login(people.alice)
    return client


def text_of(response) -> str:
    return response.content.decode()


def zipped(files: dict[str, bytes | str], **more) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", more.get("method", zipfile.ZIP_DEFLATED)) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def upload(name: str, data: bytes | str) -> io.BytesIO:
    file = io.BytesIO(data.encode() if isinstance(data, str) else data)
    file.name = name
    return file


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
    assert "begins with http://" in text_of(answer)
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
    assert alice.post(reverse("agent-suite-new"), given).status_code == 302
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
    assert "Did you mean keywords?" in text_of(answer)
    assert "0 checks in 1 turn" in text_of(answer)
    answer = alice.post(reverse("agent-case-check", args=[suite.slug]), {"text": 'include "/etc/passwd"'})
    assert "cannot include" in text_of(answer)
    assert suite.cases.get().text == GOOD


def test_a_case_is_edited_as_a_form(alice, people):
    suite = make_suite(people.alice, cases={"hello": GOOD + "metadata: {user_id: joe}\n"})
    address = reverse("agent-case-form", args=[suite.slug, make_case(suite).pk])
    page = text_of(alice.get(address))
    assert "hello" in page
    given = {
        "agent": "echo", "connections": "http, direct", "success_ratio": "2/3", "timeout_in_seconds": "20",
        "turn-text": ["hello there", "and now", ""], "turn-response": ["text: {keywords: [hello, there]}", "", ""],
        "turn-sly_data": ["x: 3", "", ""], "turn-timeout_in_seconds": ["", "1.5", ""],
        "turn-continues": ["no", "yes", "yes"],
    }  # fmt: skip
    assert alice.post(address, given).status_code == 302
    read, _ = make_case(suite).look()
    assert read is not None
    assert (read.ratio.text, read.connections, read.timeout) == ("2/3", ("http", "direct"), 20.0)
    assert [turn.text for turn in read.interactions] == ["hello there", "and now"]
    assert [turn.continues for turn in read.interactions] == [False, True]
    assert read.interactions[0].sly_data == {"x": 3}
    assert read.metadata == {"user_id": "joe"}
    given["turn-response"][0] = "text: {keywords: "
    answer = alice.post(address, given)
    assert (answer.status_code, "Turn 1, response" in text_of(answer)) == (400, True)


def test_cases_with_variables_have_no_form_and_comments_are_warned_about(alice, people):
    text = "agent: echo # who\ninteractions: [{text: ${?KEY}}]"
    suite = make_suite(
        people.alice, cases={"key": text, "comment": "# c\n" + GOOD}, variables={"KEY": "hush-hush"}
    )
    page = text_of(alice.get(reverse("agent-case-form", args=[suite.slug, make_case(suite, "key").pk])))
    assert "names variables" in page
    page = text_of(alice.get(reverse("agent-case-form", args=[suite.slug, make_case(suite, "comment").pk])))
    assert "its comments go" in page


def test_download_gives_the_very_text_back(alice, people):
    text = "# who\n" + GOOD + "\n\n// end\n"
    suite = make_suite(people.alice, cases={"a/b": text})
    answer = alice.get(reverse("agent-case-download", args=[suite.slug, make_case(suite, "a/b").pk]))
    assert text_of(answer) == text
    answer = alice.get(reverse("agent-suite-download", args=[suite.slug]))
    assert read_archive(answer.content) == {"a/b": text}


def test_importing_files_and_folders(alice, people):
    suite = make_suite(people.alice)
    address = reverse("agent-suite-import", args=[suite.slug])
    archive = zipped(
        {"music/a.hocon": GOOD, "music/b.hocon": FLAKY, "README.md": "x", "__MACOSX/a.hocon": "x"}
    )
    answer = alice.post(address, {"files": [upload("all.zip", archive), upload("hello.hocon", BAD)]})
    assert answer.status_code == 302
    assert {case.name: case.text for case in suite.cases.all()} == {
        "music/a": GOOD,
        "music/b": FLAKY,
        "hello": BAD,
    }


def test_an_import_with_one_bad_file_changes_nothing_and_names_all_problems(alice, people):
    suite = make_suite(people.alice)
    files = [upload("good.hocon", GOOD), upload("one.hocon", "agent: "), upload("two.hocon", "a: b")]
    answer = alice.post(reverse("agent-suite-import", args=[suite.slug]), {"files": files})
    page = text_of(answer)
    assert answer.status_code == 400
    assert "one: line 1" in page
    assert "two: " in page
    assert suite.cases.count() == 1


HOSTILE = {
    "leads out": zipped({"../a.hocon": GOOD}),
    "absolute": zipped({"/etc/a.hocon": GOOD}),
    "drive": zipped({"C:\\a.hocon": GOOD}),
    "bomb": zipped({"a.hocon": b"#" * 30_000_000}),
    "many bombs": zipped({f"{n}.hocon": b"#" * 900_000 for n in range(30)}),
    "many": zipped({f"{n}.hocon": GOOD for n in range(MAX_FILES + 1)}),
    "entries": zipped({f"{n}.txt": "" for n in range(6_000)}),
    "nothing": zipped({"a.txt": ""}),
    "twice": zipped({"a.hocon": GOOD, "a.json": GOOD}),
    "no UTF-8": zipped({"a.hocon": b"\xff"}),
    "odd packing": zipped({"a.hocon": GOOD}, method=zipfile.ZIP_LZMA),
    "no zip": b"PK\x03\x04nonsense",
    "cut off": zipped({"a.hocon": GOOD * 50})[:-30],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused(name):
    with pytest.raises(ArchiveError):
        read_archive(HOSTILE[name])


def test_damaged_content_and_links_are_refused():
    data = bytearray(zipped({"a.hocon": GOOD * 50}))
    data[60:80] = b"\xff" * 20
    with pytest.raises(ArchiveError, match="damaged"):
        read_archive(bytes(data))
    info = zipfile.ZipInfo("a.hocon")
    info.external_attr = 0o120777 << 16
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(ArchiveError, match="link"):
        read_archive(out.getvalue())


def test_archives_are_the_same_for_the_same_cases():
    files = {"b/c": GOOD, "a": FLAKY}
    assert write_archive(files) == write_archive(dict(reversed(files.items())))


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
    assert "number 1 in the queue" in text_of(alice.get(answer.url))
    run_pending()
    page = text_of(alice.get(suite.get_absolute_url()))
    assert "2/4" in page
    assert "[0.15, 0.85]" in page
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
    assert "too few iterations to tell" in page
    assert "<small>/3</small>" in page
    flaky = finished.case_runs.get(name="flaky")
    page = text_of(alice.get(flaky.get_absolute_url()))
    assert "Hello world" in page
    assert "Goodbye moon" in page
    assert "pass@k" in page
    page = text_of(alice.get(flaky.get_absolute_url(), {"i": ["1", "2", "3", "zz"]}))
    assert page.count('class="answer-head"') == 3
    answer = alice.get(reverse("agent-run-progress", args=[finished.key]))
    assert answer.status_code == 286


def test_downloads_of_a_run(alice, finished):
    data = alice.get(reverse("agent-run-download", args=[finished.key, "json"])).json()
    assert {case["name"]: case["outcome"] for case in data["cases"]} == {
        "bad": "fail",
        "flaky": "pass",
        "good": "pass",
    }
    xml = text_of(alice.get(reverse("agent-run-download", args=[finished.key, "junit"])))
    assert xml.count("<testsuite ") == 3


def test_failures_are_sorted_into_modes_that_can_be_renamed_and_merged(alice, finished):
    bad = finished.case_runs.get(name="bad")
    address = reverse("agent-assess", args=[finished.key, bad.pk])
    assert "3 of 3 failures" in text_of(alice.get(address))
    report = alice.get(reverse("agent-assess-download", args=[finished.key, bad.pk, "json"])).json()
    mode = report["failure_modes"][0]["id"]
    change = reverse("agent-mode", args=[finished.key, bad.pk])
    alice.post(change, {"mode": mode, "name": "Never says bye", "merged_into": ""})
    assert "Never says bye" in text_of(alice.get(address))
    alice.post(change, {"mode": mode, "name": "", "merged_into": mode})
    assert FailureMode.objects.get().name == "Never says bye"
    alice.post(change, {"mode": mode, "name": ""})
    assert FailureMode.objects.count() == 0
    text = text_of(alice.get(reverse("agent-assess-download", args=[finished.key, bad.pk, "text"])))
    assert text.startswith("3/6 attempts passed.\n3/6 attempts failed.")


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
        reverse("agent-assess", args=[run.key, run.case_runs.get().pk]),
        make_case(run.suite, "xss").get_absolute_url(),
    ):
        page = text_of(alice.get(address))
        assert "<script>alert" not in page
        assert "<b>x" not in page


def test_lists_take_few_queries(alice, finished, django_assert_max_num_queries):
    with django_assert_max_num_queries(14):
        alice.get(finished.suite.get_absolute_url())
    with django_assert_max_num_queries(14):
        alice.get(finished.get_absolute_url())
    with django_assert_max_num_queries(10):
        alice.get(reverse("agent-home"))
