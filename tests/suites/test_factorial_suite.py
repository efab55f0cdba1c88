"""A factorial design from New suite, through the editor's edits and the API, to the suite's page."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from lmgym.suites.formats.designs import factors_in, written
from suites.models import Suite
from suites.selectors import document_of, export_document
from tests.factories import make_suite

LINES = "agreement: match, mismatch\nnumber: sing, plural"
FOUR = ["match_sing", "match_plural", "mismatch_sing", "mismatch_plural"]
FORM = {"by": "guided", "name": "Crossed", "factors": LINES, "regions": "Subject\nVerb"}


@pytest.fixture
def signed_in(client, people):
    client.force_login(people.alice)
    return client


def begin(client, **fields):
    return client.post(reverse("suite-new"), FORM | fields)


def design_of(suite):
    document = document_of(suite.revisions.get())
    return written(factors_in(document.meta, document.conditions))


def test_factors_alone_make_the_conditions(signed_in):
    assert begin(signed_in).status_code == 302
    suite = Suite.objects.get()
    assert document_of(suite.draft).conditions == tuple(FOUR)
    assert design_of(suite)[1] == {
        "name": "number",
        "levels": ["sing", "plural"],
        "conditions": dict(zip(FOUR, ["sing", "plural", "sing", "plural"], strict=True)),
    }


def test_an_empty_line_begins_the_next_item(signed_in):
    begin(signed_in, first="The cat | runs\nThe cats | run\n\n \nA dog | barks\n")
    rows = document_of(Suite.objects.get().draft).table()
    assert rows[1, "match_plural"].contents == ("The cats", "run")
    assert rows[2, "match_sing"].contents == ("A dog", "barks")
    assert rows[2, "mismatch_plural"].contents == ("", "")


def test_conditions_are_looked_at_and_renamed_before_the_suite_is_made(signed_in):
    page = begin(signed_in, step="cross")
    assert page.context["form"]["conditions"].value() == "\n".join(FOUR)
    assert page.context["form"]["name"].value() == "Crossed"
    assert not Suite.objects.exists()
    begin(signed_in, conditions="ok_s\nok_p\nbad_s\nbad_p\nfiller")
    suite = Suite.objects.get()
    assert document_of(suite.draft).conditions == ("ok_s", "ok_p", "bad_s", "bad_p", "filler")
    assert design_of(suite)[0]["conditions"] == {
        "ok_s": "match",
        "ok_p": "match",
        "bad_s": "mismatch",
        "bad_p": "mismatch",
    }


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"conditions": "a\nb\nc"}, "3 conditions, but the factors generate 4"),
        ({"factors": "number: sing"}, "a factor has 2 to 20"),
        ({"factors": "", "conditions": ""}, "Name the conditions, or factors to generate them from"),
        ({"factors": "", "conditions": "a\nb", "step": "cross"}, "Name the factors first"),
        ({"factors": "a: b_c, b\nd: e, c_e"}, "appears twice"),
    ],
)
def test_a_design_that_cannot_be_is_said_and_nothing_is_made(signed_in, fields, says):
    answer = begin(signed_in, **fields)
    assert answer.status_code == 400
    assert says in answer.content.decode()
    assert not Suite.objects.exists()


def test_the_page_shows_the_design_and_what_is_outside(signed_in):
    begin(signed_in, conditions="\n".join([*FOUR, "filler"]))
    page = signed_in.get(Suite.objects.get().get_absolute_url()).content.decode()
    assert "2 × 2" in page
    assert "outside the design" in page


def test_a_suite_without_factors_shows_no_design(signed_in, people):
    assert (
        "Factorial design" not in signed_in.get(make_suite(people.alice).get_absolute_url()).content.decode()
    )


def test_a_copy_and_a_download_keep_the_design(signed_in, people):
    begin(signed_in)
    suite = Suite.objects.get()
    signed_in.post(
        reverse("suite-copy", args=[suite.slug]),
        {"name": "Mine", "revision": suite.draft.pk, "visibility": "private"},
    )
    copy = Suite.objects.exclude(pk=suite.pk).get()
    assert design_of(copy) == design_of(suite) == export_document(suite.draft).meta["factors"]


# ---- edits ----


def edit(client, suite, *ops, version=None):
    version = suite.draft.edits if version is None else version
    body = {"version": version, "edits": [{"id": f"e{version}-{len(ops)}", "ops": list(ops)}]}
    return client.patch(reverse("api-draft-cells", args=[suite.slug]), body, content_type="application/json")


def test_the_sheet_sets_factors_if_they_are_what_it_saw(signed_in):
    begin(signed_in)
    suite = Suite.objects.get()
    seen = design_of(suite)
    one = [{**seen[0], "name": "grammaticality"}, seen[1]]
    assert edit(signed_in, suite, {"op": "set_factors", "factors": one, "old": seen}).status_code == 200
    assert signed_in.get(reverse("api-draft", args=[suite.slug])).json()["factors"] == one
    late = edit(signed_in, suite, {"op": "set_factors", "factors": [], "old": seen})
    assert late.status_code == 409
    assert "The factors changed since this edit was made" in late.json()["conflicts"][0]["message"]
    wrong = edit(
        signed_in, suite, {"op": "set_factors", "factors": [{"name": "x", "levels": ["a"]}]}, version=1
    )
    assert "a factor has 2 to 20" in wrong.json()["conflicts"][0]["message"]
    assert design_of(suite) == one


def test_two_people_may_change_factors_and_cells_at_once(signed_in):
    begin(signed_in)
    suite = Suite.objects.get()
    before = suite.draft.edits
    edit(signed_in, suite, {"op": "set_factors", "factors": []})
    assert (
        edit(
            signed_in,
            suite,
            {"op": "set_cells", "cells": [[1, "match_sing", 1, "", "The cat"]]},
            version=before,
        ).status_code
        == 200
    )
    assert design_of(suite) == []


# ---- API ----


def create(client, **body):
    return client.post(reverse("api-suites"), json.dumps(body), content_type="application/json")


def test_the_api_makes_a_suite_of_factors_and_regions(signed_in):
    factors = [
        {"name": "agreement", "levels": ["match", "mismatch"]},
        {"name": "number", "levels": ["sing", "plural"]},
    ]
    answer = create(signed_in, title="Crossed", factors=factors, region_names=["Subject, long", "Verb"])
    assert answer.status_code == 201
    slug = answer.json()["slug"]
    draft = signed_in.get(reverse("api-draft", args=[slug])).json()
    assert (draft["conditions"], draft["regions"]) == (FOUR, ["Subject, long", "Verb"])
    revision = signed_in.get(reverse("api-revision", args=[slug, 1])).json()
    assert revision["factors"] == draft["factors"]
    assert revision["factors"][0]["conditions"]["mismatch_plural"] == "mismatch"


def test_factors_beside_a_document_must_fit_it(signed_in):
    table = "item\tcondition\tVerb\n1\tmatch_sing\tplays\n1\tmismatch_sing\tplay\n"
    fits = [
        {"name": "agreement", "levels": ["a", "b"], "conditions": {"match_sing": "a", "mismatch_sing": "b"}}
    ]
    assert create(signed_in, title="T", text=table, factors=fits).status_code == 201
    wrong = create(signed_in, title="T", text=table, factors=[{**fits[0], "conditions": {"gone": "a"}}])
    assert wrong.status_code == 400
    assert wrong.json()["errors"][0]["message"] == "There is no condition “gone”."


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"region_names": ["A"]}, "$.factors"),
        ({"region_names": ["A"], "factors": [{"name": "f", "levels": ["a"]}]}, "$.factors[0].levels"),
        ({"region_names": ["A"], "factors": [{"name": "f", "levels": ["50 %", "%"]}]}, "$.factors"),
        ({"region_names": [], "factors": [{"name": "f", "levels": ["a", "b"]}]}, "$.region_names"),
    ],
)
def test_a_suite_that_factors_cannot_make_is_refused_by_place(signed_in, body, where):
    answer = create(signed_in, title="T", **body)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["where"].startswith(where)
    assert not Suite.objects.exists()


def explain(client, **body):
    given = {"conditions": FOUR, "regions": ["Subject", "Verb"], **body}
    return client.post(reverse("api-design-explain"), json.dumps(given), content_type="application/json")


def test_the_api_says_what_a_design_lets_one_predict(signed_in):
    answer = explain(signed_in, lines=LINES, conditions=[*FOUR[:3], "filler"], region=2).json()
    assert answer["outside"] == ["filler"]
    assert answer["missing"] == [{"name": "mismatch_plural", "levels": ["mismatch", "plural"]}]
    by_name = {one["name"]: one for one in answer["effects"]}
    assert (
        by_name["Effect of agreement within sing"]["greater"]["formula"]
        == "(2;%mismatch_sing%) > (2;%match_sing%)"
    )
    assert by_name["Main effect of number"]["greater"] is None
    again = explain(signed_in, factors=answer["factors"], region=2, conditions=[*FOUR[:3], "filler"]).json()
    assert again == answer


def test_factors_that_are_no_design_are_answered_with_the_reason(signed_in):
    answer = explain(signed_in, lines="a")
    assert answer.status_code == 200
    assert (answer.json()["ok"], answer.json()["effects"]) == (False, [])
    assert answer.json()["errors"][0]["where"] == "$.lines"
    assert "write a factor as name" in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "Send either factors or lines"),
        ({"lines": LINES, "region": 3}, "There is no region 3"),
    ],
)
def test_a_design_that_cannot_be_asked_is_a_problem_in_words(signed_in, body, says):
    answer = explain(signed_in, **body)
    assert answer.status_code == 400
    assert says in answer.json()["detail"]
