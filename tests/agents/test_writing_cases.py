"""Write suites and cases on their pages: checked while they are written, refused with line and path."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.agents.models import AgentCase, AgentSuite
from tests.agents.site import GOOD, make_case, make_server, make_suite
from tests.page_text import text_of


@pytest.fixture
def alice(client, people):
    client.force_login(people.alice)
    return client


def test_a_suite_and_a_case_are_created(alice):
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


def test_an_invalid_case_is_refused_with_line_and_path_and_the_text_is_kept(alice, people):
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


def test_gist_in_a_suite_without_a_judge_gets_a_note(alice, people):
    suite = make_suite(people.alice)
    check = reverse("agent-case-check", args=[suite.slug])
    gist = {"text": GOOD.replace("keywords: hello", "gist: a greeting")}
    assert "This suite has no judge" in text_of(alice.post(check, gist))
    assert "has no judge" not in text_of(alice.post(check, {"text": GOOD}))
    AgentSuite.objects.update(judge=make_server(people.alice).model)
    assert "with verdicts by the suite" in text_of(alice.post(check, gist))


def test_the_connection_direct_gets_a_note(alice, people):
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
