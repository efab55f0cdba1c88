"""Checks as rows of the form: rows and text are equivalent, and nothing is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.agents.case_form import document_of, fields_of
from lmgym.agents.case_reader import parse_case
from lmgym.agents.cases import TESTS
from lmgym.agents.check_rows import LABELS, join, places, read_place, show_place, split
from tests.agents.site import make_case, make_run, make_server, make_suite
from tests.page_text import text_of

keys = st.sampled_from(["a", "b.c", 'd"e', "value", "keywords", " f ", "", "json_schema"]) | st.text(
    max_size=6
)
scalars = st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | st.text(max_size=6)
texts = st.sampled_from(["3", "true", "null", '"x"', "[1]", "{a: 1}", " x ", "", "two\nlines", "plain"])
values = st.recursive(
    scalars | texts, lambda below: st.lists(below, max_size=3) | st.dictionaries(keys, below, max_size=2)
)
checks = st.dictionaries(st.sampled_from(TESTS) | keys, values, max_size=3)
responses = st.dictionaries(
    st.sampled_from(["text", "structure", "sly_data", "odd"]),
    st.recursive(checks, lambda below: st.dictionaries(keys, below | checks, max_size=2), max_leaves=4)
    | scalars,
    max_size=3,
)


def exactly(value) -> str:
    return json.dumps(value, sort_keys=True)


@given(responses)
def test_every_response_survives_a_form_in_which_another_check_is_added(response):
    """Unchanged checks keep their exact values."""
    rows, rest = split(response)
    added = {"place": "structure.added", "test": "gist", "expected": "new"}
    problems: list[str] = []
    made = join(response, [*rows, added], rest, problems, "Turn 1")
    if problems:
        return  # a part that is not an object cannot contain a check
    assert made["structure"].pop("added") == {"gist": "new"}
    want = json.loads(json.dumps(response))
    want.setdefault("structure", {})
    assert exactly(made) == exactly(want)


@given(st.lists(keys, min_size=1, max_size=4))
def test_every_place_is_read_as_it_is_shown(path):
    assert read_place(show_place(path)) == tuple(path)


@pytest.mark.parametrize(
    ("test", "typed", "value"),
    [
        ("value", "3", 3), ("value", '"3"', "3"), ("value", "3 apples", "3 apples"), ("value", "true", True),
        ("value", "[1, 2]", [[1, 2]]), ("value", '{"a": 1}', [{"a": 1}]), ("less", "2.5", 2.5),
        ("keywords", "3", "3"), ("gist", '"quoted" is kept', '"quoted" is kept'), ("regex", "^a{2}$", "^a{2}$"),
        ("json_schema", "type: object", {"type": "object"}), ("json_schema", "{type: object}", {"type": "object"}),
    ],
)  # fmt: skip
def test_what_is_typed_means_what_one_expects(test, typed, value):
    row = {"place": "structure.k", "test": test, "expected": typed}
    assert join({}, [row], {}, [], "Turn 1") == {"structure": {"k": {test: value}}}


def test_several_rows_of_one_place_and_test_are_a_list_and_empty_ones_are_left_out():
    rows = [{"place": "text", "test": "keywords", "expected": word} for word in ("a", "", "b")]
    assert join({}, rows, {}, [], "Turn 1") == {"text": {"keywords": ["a", "b"]}}


@pytest.mark.parametrize(
    ("place", "test", "expected", "problem"),
    [
        ("answer", "value", "x", "is not a path in an answer"),
        ("structure..x", "value", "x", "is not a path in an answer"),
        ("text", "odd", "x", "unknown test 'odd'"),
        ("text", "value", "{", "Put text in quotes"),
    ],
)
def test_a_row_that_cannot_be_read_says_which(place, test, expected, problem):
    problems: list[str] = []
    join({}, [{"place": place, "test": test, "expected": expected}], {}, problems, "Turn 2")
    assert len(problems) == 1
    assert problems[0].startswith("Turn 2, ")
    assert problem in problems[0]


def test_every_test_has_a_label():
    assert set(LABELS) == set(TESTS)


def test_an_answer_offers_its_places_with_what_stood_there():
    found = places({"answer": "The Beatles", "deep": {"a.b": 1}}, {"n": None})
    assert found == [
        ("text", ""), ("structure", '{"answer": "The Beatles", "deep": {"a.b": 1}}'),
        ("structure.answer", '"The Beatles"'), ("structure.deep", '{"a.b": 1}'), ('structure.deep."a.b"', "1"),
        ("sly_data", '{"n": null}'),
    ]  # fmt: skip


# --- pages ---

TURN = "{text: times, sly_data: {x: 2, y: 3}, response: {sly_data: {equals: {value: 6}}}}"
CALC = f"agent: math_guy, interactions: [{TURN}]"


@pytest.fixture
def alice(client, people):
    client.force_login(people.alice)
    return client


@pytest.mark.django_db
def test_the_form_offers_the_places_of_the_last_transcript(alice, people):
    suite = make_suite(people.alice, cases={"hello": CALC})
    address = f"/agents/{suite.slug}/cases/{make_case(suite).pk}/form/"
    assert '<option value="sly_data.equals">' not in text_of(alice.get(address))
    make_run(suite, make_server(people.alice))
    page = text_of(alice.get(address))
    assert '<option value="sly_data.equals">6' in page
    assert '<optgroup label="Not in neuro-san"> <option value="regex">' in page


def _sent(case, **more):
    top, turns = fields_of(case.parse()[0].document)
    (turn,) = turns
    rows = turn.pop("checks")
    sent = {"name": case.name, **top, **{f"turn-{name}": [value] for name, value in turn.items()}}
    sent |= {"check-count": str(len(rows)), "check-turn": ["0"] * len(rows)}
    return (
        sent | {f"check-{name}": [row[name] for row in rows] for name in ("place", "test", "expected")} | more
    )


@pytest.mark.django_db
def test_a_check_is_added_changed_and_removed(alice, people):
    suite = make_suite(people.alice, cases={"hello": CALC})
    case = make_case(suite)
    address = f"/agents/{suite.slug}/cases/{case.pk}/form/"
    page = text_of(alice.post(address, _sent(case, **{"add-check": "0"})))
    assert page.count('name="check-place"') == 2
    page = text_of(alice.post(address, _sent(case, **{"drop-check": "0"})))
    assert 'name="check-place"' not in page
    assert make_case(suite).text == CALC, "these buttons save nothing"
    assert (
        alice.post(address, _sent(case, **{"check-test": ["less"], "check-expected": ["7"]})).status_code
        == 302
    )
    (check,) = parse_case(make_case(suite).text)[0].interactions[0].checks
    assert (check.where, check.expected) == ("response.sly_data.equals.less", 7)
    refused = alice.post(address, _sent(case, **{"check-place": ["equals"]}))
    assert (refused.status_code, "is not a path in an answer" in text_of(refused)) == (400, True)
    assert alice.post(address, _sent(case, **{"check-count": "9"})).status_code == 400


def test_a_form_without_rows_keeps_the_checks():
    document = parse_case(CALC)[0].document
    top, (turn,) = fields_of(document)
    turn.pop("checks")
    made, _ = document_of(document, top, [turn | {"text": "plus"}])
    assert made["interactions"][0]["response"] == document["interactions"][0]["response"]
