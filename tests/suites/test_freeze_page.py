"""The page that freezes a draft, and the page of changes between revisions."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.runs.models import SuiteRun
from suites import drafts, services
from tests.factories import make_model, make_suite


@pytest.fixture
def suite(client, people):
    """A suite that was frozen once, and has a draft in which one cell and the name of the prediction have
    changed.
    """
    suite = make_suite(people.alice)
    draft = services.open_draft(suite, actor=people.alice)
    old = list(draft.predictions.values("name", "description", "formula"))
    ops = [
        {"op": "set_cells", "cells": [[1, "match", 2, "plays", "sings"]]},
        {"op": "set_predictions", "old": old, "predictions": [{**old[0], "name": "Agreement"}]},
    ]
    drafts.apply_edits(suite, draft.edits, [{"id": "x", "ops": ops}], actor=people.alice)
    client.force_login(people.alice)
    return suite


def test_the_page_shows_what_changed_since_the_last_revision(client, suite):
    page = client.get(reverse("suite-freeze", args=[suite.slug])).content.decode()
    assert "Changes since r1" in page
    assert "<del>plays</del>" in page
    assert "<ins>sings</ins>" in page
    assert "Agreement" in page


def test_freezing_keeps_the_note_and_queues_the_chosen_models(client, people, suite):
    model = make_model(people.alice)
    answer = client.post(
        reverse("suite-freeze", args=[suite.slug]), {"note": "plays -> sings", "models": [model.pk]}
    )
    revision = suite.latest_frozen
    assert (revision.number, revision.note) == (2, "plays -> sings")
    assert answer.url == revision.get_absolute_url()
    assert SuiteRun.objects.get().revision == revision


def test_a_draft_with_a_broken_formula_is_not_frozen(client, people, suite):
    draft = suite.draft
    old = list(draft.predictions.values("name", "description", "formula"))
    for formula, says in (
        ("(2;%match%) >", "Column"),
        ("(9;%match%) > 0", "no region 9"),
        ("(?;%match%) > 0", "Column"),
    ):
        new = [{**old[0], "formula": formula}]
        edit = {"id": formula, "ops": [{"op": "set_predictions", "predictions": new}]}
        drafts.apply_edits(suite, draft.edits, [edit], actor=people.alice)
        page = client.get(reverse("suite-freeze", args=[suite.slug])).content.decode()
        assert "Cannot be frozen yet" in page
        answer = client.post(reverse("suite-freeze", args=[suite.slug]), {}, follow=True)
        assert says in answer.content.decode()
        assert suite.draft is not None


def test_an_empty_draft_is_not_frozen(client, people, suite):
    edit = {"id": "empty", "ops": [{"op": "delete_items", "items": [1, 2, 3]}]}
    drafts.apply_edits(suite, suite.draft.edits, [edit], actor=people.alice)
    answer = client.post(reverse("suite-freeze", args=[suite.slug]), {}, follow=True)
    assert "no sentences" in answer.content.decode()
    assert client.get(reverse("suite-editor", args=[suite.slug])).status_code == 200


def test_the_first_revision_has_nothing_to_compare_with(client, people):
    client.force_login(people.alice)
    suite = make_suite(people.alice, frozen=False)
    assert "The first revision" in client.get(reverse("suite-freeze", args=[suite.slug])).content.decode()


def test_a_suite_without_a_draft_has_no_freeze_page(client, people):
    client.force_login(people.alice)
    suite = make_suite(people.alice)
    assert client.get(reverse("suite-freeze", args=[suite.slug])).url == suite.get_absolute_url()


def test_two_revisions_are_compared_both_ways(client, suite):
    there = client.get(reverse("suite-diff", args=[suite.slug, 1, 2])).content.decode()
    back = client.get(reverse("suite-diff", args=[suite.slug, 2, 1])).content.decode()
    assert "<del>plays</del>" in there
    assert "<ins>plays</ins>" in back
    same = client.get(reverse("suite-diff", args=[suite.slug, 1, 1])).content.decode()
    assert "The two revisions are identical" in same
