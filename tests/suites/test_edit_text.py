"""Editing without JavaScript."""

from __future__ import annotations

import pytest
from django.urls import reverse

from suites import drafts
from suites.formats import write_wide_tsv
from suites.models import DraftEdit, SuiteCollaborator
from suites.selectors import document_of
from tests.factories import AGREEMENT, make_suite


@pytest.fixture
def suite(client, people):
    suite = make_suite(people.alice, frozen=False)
    client.force_login(people.alice)
    return suite


def send(client, suite, part, **fields):
    fields.setdefault("version", suite.draft.edits)
    return client.post(reverse("suite-edit-text", args=[suite.slug]), {"part": part, **fields})


def sheet(suite, *changes):
    text = write_wide_tsv(document_of(suite.draft))
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def contents(suite, item, condition):
    return suite.draft.sentences.get(item=item, condition=condition).contents


def test_a_changed_cell_is_one_edit(client, suite):
    assert send(client, suite, "sheet", text=sheet(suite, ("plays", "sings"))).status_code == 302
    assert contents(suite, 1, "match")[1] == "sings"
    assert DraftEdit.objects.get().ops == [{"op": "set_cells", "cells": [[1, "match", 2, "plays", "sings"]]}]


def test_rows_are_added_and_removed(client, suite):
    lines = sheet(suite).split("\r\n")
    text = "\n".join([*lines[:1], *lines[3:7], "9\tmatch\ta\tb\tc", "9\tmismatch\td\te\tf"])
    assert send(client, suite, "sheet", text=text).status_code == 302
    assert document_of(suite.draft).items == (2, 3, 9)
    assert contents(suite, 9, "mismatch") == ["d", "e", "f"]


def test_a_renamed_column_is_a_renamed_region(client, suite):
    send(client, suite, "sheet", text=sheet(suite, ("Verb", "Predicate")))
    assert suite.draft.region_names == ["Subject", "Predicate", "Rest"]


def test_formulas_follow_a_new_column(client, suite):
    text = sheet(suite).replace("\r\n", "\n").replace("condition\t", "condition\tPre\t", 1)
    text = text.replace("match\t", "match\tWell,\t")
    assert send(client, suite, "sheet", text=text).status_code == 302
    assert contents(suite, 1, "match") == ["Well,", "The woman", "plays", "all day."]
    assert suite.draft.predictions.get().formula == "(3;%mismatch%) > (3;%match%)"


def test_a_column_that_is_gone_leaves_a_formula_to_mend(client, suite):
    rows = [line.split("\t") for line in sheet(suite).split("\r\n") if line]
    send(client, suite, "sheet", text="\n".join("\t".join([*row[:3], *row[4:]]) for row in rows))
    assert suite.draft.predictions.get().formula == "(?;%mismatch%) > (?;%match%)"
    page = client.get(reverse("suite-edit-text", args=[suite.slug])).content.decode()
    assert "to be mended" in page


def test_a_bad_sheet_keeps_what_was_typed(client, suite):
    before = document_of(suite.draft)
    answer = send(client, suite, "sheet", text=sheet(suite, ("1\tmatch", "one\tmatch")))
    assert answer.status_code == 400
    assert "row 2, column A (item)" in answer.content.decode()
    assert "one\tmatch" in answer.content.decode()
    assert document_of(suite.draft) == before


def test_a_sheet_from_an_older_draft_is_kept_and_not_saved(client, people, suite):
    SuiteCollaborator.objects.create(suite=suite, user=people.bob, role="edit")
    mine = sheet(suite, ("all day.", "all night."))
    theirs = {"id": "b", "ops": [{"op": "set_cells", "cells": [[2, "match", 2, "run", "ran"]]}]}
    drafts.apply_edits(suite, 0, [theirs], actor=people.bob)
    answer = send(client, suite, "sheet", text=mine, version=0)
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "Somebody changed the draft" in page
    assert "all night." in page
    assert 'name="version" value="1"' in page
    assert contents(suite, 2, "match")[1] == "ran"
    assert send(client, suite, "sheet", text=mine, version=1).status_code == 302
    assert contents(suite, 1, "match")[2] == "all night."


def formset(suite, *rows):
    fields = {"p-TOTAL_FORMS": len(rows), "p-INITIAL_FORMS": suite.draft.predictions.count()}
    for place, row in enumerate(rows):
        fields |= {f"p-{place}-{key}": value for key, value in row.items()}
    return fields


def test_predictions_are_added_ordered_named_and_removed(client, suite):
    fields = formset(
        suite,
        {"name": "Old", "formula": AGREEMENT, "description": "", "ORDER": 2},
        {"name": "New", "formula": "(1;%match%) > 0", "description": "why", "ORDER": 1},
    )
    assert send(client, suite, "predictions", **fields).status_code == 302
    assert [(p.name, p.formula) for p in suite.draft.predictions.all()] == [
        ("New", "(1;%match%) > 0"),
        ("Old", AGREEMENT),
    ]
    fields = formset(
        suite,
        {"name": "New", "formula": "x", "ORDER": 1, "DELETE": "on"},
        {"name": "Old", "formula": AGREEMENT, "ORDER": 2},
        {"name": "", "formula": "", "ORDER": ""},
    )
    assert send(client, suite, "predictions", **fields).status_code == 302
    assert [p.name for p in suite.draft.predictions.all()] == ["Old"]


def names(**changes):
    given = {"region-1": "Subject", "region-2": "Verb", "region-3": "Rest"}
    return given | {"condition-1": "match", "condition-2": "mismatch"} | changes


def test_formulas_follow_a_renamed_condition(client, suite):
    answer = send(client, suite, "names", **names(**{"condition-1": "ok", "region-2": "V"}))
    assert answer.status_code == 302
    assert suite.draft.condition_names == ["ok", "mismatch"]
    assert suite.draft.region_names == ["Subject", "V", "Rest"]
    assert suite.draft.predictions.get().formula == "(2;%mismatch%) > (2;%ok%)"


def test_two_conditions_may_exchange_their_names(client, suite):
    send(client, suite, "names", **names(**{"condition-1": "mismatch", "condition-2": "match"}))
    assert contents(suite, 1, "mismatch")[1] == "plays"
    assert suite.draft.predictions.get().formula == "(2;%match%) > (2;%mismatch%)"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"condition-1": "mismatch"}, "same name"),
        ({"condition-1": "50 %"}, "% sign"),
        ({"region-1": " "}, "required"),
    ],
)
def test_an_unusable_name_is_refused(client, suite, change, says):
    answer = send(client, suite, "names", **names(**change))
    assert answer.status_code == 400
    assert says in answer.content.decode()
    assert suite.draft.edits == 0
