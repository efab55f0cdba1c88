"""The settings for region values and for joining regions: set at creation, in the sheet, and shown before
freezing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.urls import reverse

from lmgym.suites.lint import lint
from suites import services
from suites.fields import metric_name
from suites.models import Suite, SuiteImport
from suites.selectors import document_of
from tests.factories import make_suite
from tests.lmgym.suites.documents import suite_json

WIDE = "item\tcondition\tSubject\tVerb\n1\tmatch\tThe woman\tplays\n\tmismatch\tThe woman\tplay\n"
NOW = {"metric": "sum", "join": "space"}


@pytest.fixture
def signed_in(client, people):
    client.force_login(people.alice)
    return client


@pytest.fixture
def suite(people):
    return make_suite(people.alice, frozen=False)


def edit(client, suite, op, name="e1"):
    body = {"version": suite.draft.edits, "edits": [{"id": name, "ops": [{"op": "set_scoring", **op}]}]}
    return client.patch(reverse("api-draft-cells", args=[suite.slug]), body, content_type="application/json")


def scoring(suite):
    return suite.draft.metric, suite.draft.join_policy


# ---- the op ----


def test_the_sheet_sets_the_scoring_if_it_is_what_it_saw(signed_in, suite):
    assert edit(signed_in, suite, {"metric": "mean", "join": "natural", "old": NOW}).status_code == 200
    assert scoring(suite) == ("mean", "natural")
    draft = signed_in.get(reverse("api-draft", args=[suite.slug])).json()
    assert (draft["metric"], draft["join"]) == ("mean", "natural")
    late = edit(signed_in, suite, {"metric": "max", "join": "none", "old": NOW}, name="e2")
    assert late.status_code == 409
    assert late.json()["conflicts"][0]["by"] == "alice"
    assert "The scoring changed since this edit was made" in late.json()["conflicts"][0]["message"]
    assert scoring(suite) == ("mean", "natural")


def test_a_change_of_the_scoring_leaves_the_structure(signed_in, suite):
    structure = suite.draft.structure
    edit(signed_in, suite, {"metric": ["mean", "max"], "join": "none"})
    assert scoring(suite) == (["mean", "max"], "none")
    assert suite.draft.structure == structure


@pytest.mark.parametrize(
    ("op", "says"),
    [
        ({"metric": "mode", "join": "space"}, "“metric” must be one of sum, mean"),
        ({"metric": [], "join": "space"}, "“metric” must be one of"),
        ({"metric": ["sum", "sum"], "join": "space"}, "“metric” must be one of"),
        ({"metric": ["all"], "join": "space"}, "“metric” must be one of"),
        ({"metric": {}, "join": "space"}, "“metric” must be one of"),
        ({"metric": "sum"}, "“join” must be one of space, natural, none"),
        ({"metric": "sum", "join": []}, "“join” must be one of"),
        ({"metric": "sum", "join": "none", "old": "sum"}, "“old” must be an object"),
    ],
)
def test_a_scoring_that_there_is_not_is_refused(signed_in, suite, op, says):
    answer = edit(signed_in, suite, op)
    assert answer.status_code == 409
    assert says.lower() in answer.json()["conflicts"][0]["message"].lower()
    assert scoring(suite) == ("sum", "space")


# ---- beginning a suite ----


@pytest.mark.parametrize(
    "fields",
    [
        {"by": "guided", "conditions": "a\nb", "regions": "X\nY"},
        {"by": "template", "template": "agreement"},
        {"by": "paste", "text": WIDE},
    ],
)
def test_a_new_suite_begins_with_the_scoring_that_was_chosen(signed_in, fields):
    chosen = {"name": "Mine", "metric": "mean", "join_policy": "natural"}
    signed_in.post(reverse("suite-new"), fields | chosen)
    assert scoring(Suite.objects.get()) == ("mean", "natural")


def test_pasted_cells_that_ask_keep_the_scoring_until_they_are_answered(signed_in):
    fields = {"by": "paste", "text": WIDE.replace("condition", "Fassung"), "name": "Mine", "metric": "max"}
    answer = signed_in.post(reverse("suite-new"), fields | {"join_policy": "none"})
    batch = SuiteImport.objects.get()
    assert answer.url == batch.get_absolute_url()
    assert (batch.options["metric"], batch.options["join_policy"]) == ("max", "none")


def test_an_import_takes_the_metric_that_was_chosen_and_else_the_files(signed_in, suite):
    text = signed_in.get(reverse("suite-download", args=[suite.slug, 1, "json"])).content.decode()
    for metric, wanted in (("", "sum"), ("min", "min")):
        fields = {"text": text, "visibility": "private", "join_policy": "space", "again": "on"}
        signed_in.post(reverse("suite-import"), fields | {"metric": metric})
        assert Suite.objects.order_by("-pk")[0].draft.metric == wanted


def test_a_new_version_takes_the_metric_that_was_chosen(signed_in, suite):
    place = reverse("suite-upload", args=[suite.slug])
    fields = {"text": WIDE.replace("Verb", "Verb\tRest"), "join_policy": "space", "metric": "median"}
    answer = signed_in.post(place, fields | {"text": WIDE})
    assert answer.status_code == 302
    assert suite.draft.metric == "median"


def test_the_api_makes_a_suite_with_a_metric(signed_in):
    body = {"document": suite_json(), "metric": "range", "join_policy": "none"}
    answer = signed_in.post(reverse("api-suites"), body, content_type="application/json")
    assert answer.status_code == 201
    assert scoring(Suite.objects.get()) == ("range", "none")


# ---- what follows ----


def test_the_freeze_page_says_what_is_set_and_what_it_was(signed_in, people):
    suite = make_suite(people.alice)
    services.open_draft(suite, actor=people.alice)
    edit(signed_in, suite, {"metric": "mean", "join": "natural"})
    page = signed_in.get(reverse("suite-freeze", args=[suite.slug])).content.decode()
    assert metric_name("mean") in page
    assert "no space before" in page
    assert f"{reverse('suite-editor', args=[suite.slug])}#scoring" in page
    assert "Join policy" in page  # listed as a change


def test_several_metrics_are_said_by_the_one_that_runs_begin_with():
    assert metric_name(["mean", "max"]) == "mean of its tokens (a run may use max instead)"
    assert metric_name("all").startswith("sum of its tokens (a run may use mean or median")


def test_advice_about_joins_names_the_setting_and_goes_when_it_is_followed(signed_in, people):
    suite = make_suite(people.alice, frozen=False)
    cells = [[1, "match", 3, "all day.", ", all day."], [1, "mismatch", 3, "all day.", ", all day."]]
    body = {
        "version": suite.draft.edits,
        "edits": [{"id": "c", "ops": [{"op": "set_cells", "cells": cells}]}],
    }
    signed_in.patch(reverse("api-draft-cells", args=[suite.slug]), body, content_type="application/json")
    place = reverse("api-lint", args=[suite.slug])

    def found():
        return [one for one in signed_in.get(place).json()["findings"] if one["code"] == "straddle-risk"]

    assert [one["setting"] for one in found()] == ["join"]
    assert (
        f"{reverse('suite-editor', args=[suite.slug])}#scoring-join"
        in signed_in.get(suite.get_absolute_url()).content.decode()
    )
    edit(signed_in, suite, {"metric": "sum", "join": "natural"})
    assert found() == []


def test_no_policy_that_leaves_out_the_blank_is_advised_against(people):
    document = document_of(make_suite(people.alice).latest_frozen)
    rows = tuple(
        replace(row, contents=(row.contents[0], "'s", row.contents[2])) for row in document.sentences
    )
    clitics = replace(document, sentences=rows)
    codes = {join: {one.code for one in lint(clitics, join)} for join in ("space", "natural", "none")}
    assert [join for join, found in codes.items() if "straddle-risk" in found] == ["space", "natural"]
