"""The form of a case: unchanged fields keep their values, and every key has a field."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from gym.agents.models import AgentCase
from lmgym.agents.case_form import TURN, document_of, fields_of, write_case
from lmgym.agents.case_reader import parse_case
from tests.agents.site import GOOD, make_case, make_suite
from tests.page_text import text_of

GIST = "first line\nsecond line\n  third"
words = st.text("aZ1 .-é😀\x1f\x7f\x85\u2028\t\n\r\"'\\#$/{}[]():,=+&?!@*^`", max_size=12)
pieces = st.sampled_from(['"', '"""', "\n", "  ", "\\", "a", "${x}", "#", "//", "\t", "}", "\r\n", "é"])
texts = words | st.lists(pieces, max_size=8).map("".join)
numbers = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(texts, below, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, values, max_size=3)
anything = st.none() | objects
seconds = st.none() | st.integers(1, 999) | st.floats(0.25, 999) | st.sampled_from(["5 s", "2 minutes"])
turns = st.fixed_dictionaries(
    {},
    optional={
        "text": st.none() | texts, "sly_data": anything, "response": anything, "timeout_in_seconds": seconds,
        "chat_filter": st.sampled_from([None, "MINIMAL", "maximal", "odd"]),
        "continue_conversation": st.none() | st.booleans(), "not_known": values,
    },
)  # fmt: skip
documents = st.fixed_dictionaries(
    {"agent": st.sampled_from(["echo", " a/b "])},
    optional={
        "connections": st.sampled_from([None, [], "http", ["http"], ["http", "direct"], "direct"]),
        "success_ratio": st.sampled_from([None, "1/1", "2/3", " 1 / 2 "]), "timeout_in_seconds": seconds,
        "metadata": anything, "use_direct": st.none() | st.booleans(), "failure_patterns": values,
        "interactions": st.none() | st.lists(turns, max_size=3),
    },
)  # fmt: skip


def as_a_browser_sends(fields: dict) -> dict:
    rows = {"checks": [as_a_browser_sends(row) for row in fields["checks"]]} if "checks" in fields else {}
    texts = {name: value for name, value in fields.items() if name != "checks"}
    return {
        name: "\r\n".join(value.replace("\r\n", "\n").split("\n")) for name, value in texts.items()
    } | rows


def exactly(value) -> str:
    return json.dumps(value, sort_keys=True)


@given(documents)
def test_a_form_that_is_only_opened_and_saved_changes_nothing(document):
    top, fields = fields_of(document)
    made, problems = document_of(
        document, as_a_browser_sends(top), [as_a_browser_sends(one) for one in fields]
    )
    assert (exactly(made), problems) == (exactly(document), [])


full = st.dictionaries(texts, values, min_size=1, max_size=3)


@given(full, full, full, texts.filter(str.strip))
def test_the_fields_alone_say_everything(metadata, sly_data, response, text):
    """The case is rebuilt from the fields without the original document."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    turn = {"text": text, "sly_data": sly_data, "chat_filter": "MAXIMAL", "timeout_in_seconds": 2.5}
    turn |= {"continue_conversation": False, "response": response}
    document = {
        "agent": "echo", "connections": ["http", "direct"], "success_ratio": "2/3", "timeout_in_seconds": 9,
        "metadata": metadata, "use_direct": True, "interactions": [turn],
    }  # fmt: skip
    made, problems = document_of({}, *fields_of(document))
    assert (exactly(made), problems) == (exactly(document), [])


@given(documents)
def test_what_is_written_is_read_again_as_the_same(document):
    """Writing and reading does not change any case that the reader accepts."""
    read, _ = parse_case(write_case(document))
    if read is not None:
        assert exactly(read.document) == exactly(document)


def test_lines_of_text_stay_whole():
    document = {"agent": "a", "interactions": [{"text": "q", "response": {"text": {"gist": GIST}}}]}
    top, fields = fields_of(document)
    fields[0]["text"] = "another question"
    fields[0]["checks"].append({"place": "structure.op", "test": "value", "expected": "times"})
    made, _ = document_of(document, top, fields)
    assert made["interactions"][0]["response"]["text"]["gist"] == GIST


def test_turns_that_were_emptied_go_and_those_that_always_were_empty_stay():
    document = {"agent": "a", "interactions": [{"text": "q"}, {}, {"chat_filter": "MAXIMAL"}]}
    top, fields = fields_of(document)
    fields[0]["text"] = ""
    made, _ = document_of(document, top, [*fields, dict(fields[1])])
    assert made["interactions"] == [{}, {"chat_filter": "MAXIMAL"}]


def as_sent(fields: list[dict]) -> dict:
    """Return the form data that a browser sends for these turns."""
    rows = [(str(at), row) for at, turn in enumerate(fields) for row in turn["checks"]]
    return {
        **{f"turn-{name}": [turn[name] for turn in fields] for name in TURN},
        "check-count": str(len(rows)), "check-turn": [at for at, _ in rows],
        **{f"check-{name}": [row[name] for _, row in rows] for name in ("place", "test", "expected")},
    }  # fmt: skip


# --- pages ---


@pytest.fixture
def alice(client, people):
    client.force_login(people.alice)
    return client


FIELDS = {
    "name": "greets", "agent": "echo", "connections": "http", "success_ratio": "1/2", "timeout_in_seconds": "",
    "metadata": "user_id: joe", "use_direct": "yes", "turn-text": ["hello", ""],
    "check-count": "1", "check-turn": ["0"], "check-place": ["text"], "check-test": ["keywords"],
    "check-expected": ["hello"], "turn-response": ["", ""], "turn-sly_data": ["", ""],
    "turn-timeout_in_seconds": ["", ""],
    "turn-continue_conversation": ["yes", "yes"], "turn-chat_filter": ["MAXIMAL", ""],
}  # fmt: skip


def test_a_new_case_is_begun_in_the_form(alice, people):
    suite = make_suite(people.alice)
    address = reverse("agent-case-new-form", args=[suite.slug])
    assert address in text_of(alice.get(reverse("agent-case-new", args=[suite.slug])))
    assert "names no agent" not in text_of(alice.get(address))
    answer = alice.post(address, FIELDS)
    case = AgentCase.objects.get(name="greets")
    assert (answer.status_code, answer.url) == (302, case.get_absolute_url())
    read, _ = case.parse()
    assert read is not None
    assert (read.metadata, read.use_direct, read.ratio.text) == ({"user_id": "joe"}, True, "1/2")
    assert [turn.chat_filter for turn in read.interactions] == ["MAXIMAL"]


def test_a_name_that_is_taken_is_refused_and_nothing_is_lost(alice, people):
    suite = make_suite(people.alice)
    answer = alice.post(reverse("agent-case-new-form", args=[suite.slug]), FIELDS | {"name": "hello"})
    assert answer.status_code == 400
    assert "already exists" in text_of(answer)
    assert ">\nhello</textarea>" in answer.content.decode()


def test_what_is_wrong_is_named_by_its_field_and_not_by_a_line_that_nobody_sees(alice, people):
    suite = make_suite(people.alice)
    wrong = FIELDS | {"check-test": ["regex"], "check-expected": ["("]}
    page = alice.post(reverse("agent-case-new-form", args=[suite.slug]), wrong)
    text = text_of(page)
    assert page.status_code == 400
    assert "interactions[0].response.text.regex: This is not a valid regular expression" in text
    assert "line " not in text.partition('role="alert"')[2].partition("</div>")[0]


def test_a_form_that_did_not_arrive_whole_changes_nothing(alice, people):
    suite = make_suite(people.alice)
    address = reverse("agent-case-form", args=[suite.slug, make_case(suite).pk])
    for part in ({}, {"name": "hello", "agent": "echo"}):
        answer = alice.post(address, part)
        assert (answer.status_code, "was not received completely" in text_of(answer)) == (
            400,
            True,
        )
    assert make_case(suite).text == GOOD


def test_a_case_of_very_many_turns_has_no_form(alice, people):
    suite = make_suite(
        people.alice, cases={"long": f"agent: echo, interactions: [{'{text: hello}, ' * 101}]"}
    )
    page = alice.get(reverse("agent-case-form", args=[suite.slug, make_case(suite, "long").pk]))
    assert "more than 100 turns" in text_of(page)
    assert 'name="turn-text"' not in text_of(page)


def test_a_turn_is_added_without_saving(alice, people):
    suite = make_suite(people.alice)
    case = make_case(suite)
    address = reverse("agent-case-form", args=[suite.slug, case.pk])
    assert text_of(alice.get(address)).count('name="turn-text"') == 1
    answer = alice.post(address, FIELDS | {"add": "1"})
    assert (answer.status_code, text_of(answer).count('name="turn-text"')) == (200, 3)
    assert make_case(suite).text == GOOD


def test_fields_are_checked_while_they_are_filled_in(alice, people):
    suite = make_suite(people.alice)
    case = make_case(suite)
    address = reverse("agent-case-form", args=[suite.slug, case.pk])

    def said(**changed):
        answer = alice.post(address, FIELDS | changed, headers={"HX-Request": "true"})
        assert answer.status_code == 200
        return text_of(answer)

    assert "no test keyword" in said(**{"turn-response": ["text: {keyword: hello}", ""]})
    assert "Turn 1, other expectations" in said(**{"turn-response": ["text: {", ""]})
    assert "1 check in 1 turn" in said()
    assert make_case(suite).text == GOOD


def test_comments_stay_when_nothing_is_changed(alice, people):
    text = "# why\n" + GOOD
    suite = make_suite(people.alice, cases={"hello": text})
    case = make_case(suite)
    top, fields = fields_of(case.parse()[0].document)
    sent = {"name": "hello", **top, **as_sent(fields)}
    address = reverse("agent-case-form", args=[suite.slug, case.pk])
    assert alice.post(address, sent).status_code == 302
    assert make_case(suite).text == text
    alice.post(address, sent | {"success_ratio": "1/2"})
    assert make_case(suite).text != text


def test_every_field_is_saved_and_an_invalid_one_changes_nothing(alice, people):
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


def test_a_case_with_variables_has_no_form_and_one_with_comments_a_warning(alice, people):
    text = "agent: echo # who\ninteractions: [{text: ${?KEY}}]"
    suite = make_suite(
        people.alice, cases={"key": text, "comment": "# c\n" + GOOD}, variables={"KEY": "hush-hush"}
    )
    page = text_of(alice.get(reverse("agent-case-form", args=[suite.slug, make_case(suite, "key").pk])))
    assert "uses variables" in page
    page = text_of(alice.get(reverse("agent-case-form", args=[suite.slug, make_case(suite, "comment").pk])))
    assert "remove its comments" in page
