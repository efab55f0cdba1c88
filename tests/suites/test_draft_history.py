"""The history of a draft: who changed what and when, how far back it goes, and what the editor can undo."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.urls import reverse

from lmgym.suites.formats import read_suite
from suites import drafts, history, services
from suites.quotas import SUITES
from tests.factories import make_suite
from tests.lmgym.suites.documents import suite_bytes
from tests.page_text import text_of


@pytest.fixture
def suite(people):
    """alice's draft, which bob may edit, too."""
    return make_suite(people.alice, frozen=False, collaborator=people.bob)


def change(suite, *ops, by):
    outcome = drafts.apply_edits(suite, suite.draft.edits, [{"id": str(uuid4()), "ops": list(ops)}], actor=by)
    assert not outcome.conflicts


def cell(old, new):
    return {"op": "set_cells", "cells": [[1, "match", 2, old, new]]}


def page_of(client, person, suite):
    client.force_login(person)
    return text_of(client.get(reverse("suite-history", args=[suite.slug])))


def test_every_change_is_listed_with_its_author_the_newest_first(client, people, suite):
    change(suite, cell("plays", "sings"), by=people.alice)
    change(suite, {"op": "delete_items", "items": [2]}, by=people.bob)
    text = page_of(client, people.bob, suite)
    first, second = text.index("deleted item 2"), text.index("changed item 1, match, region 2")
    assert first < second
    assert first < text.index("bob,", first) < second < text.index("alice,", second)
    assert '<del dir="auto">plays</del> <ins dir="auto">sings</ins>' in text
    assert "<time" in text


def test_the_author_of_a_change_may_have_left(client, people, suite):
    change(suite, cell("plays", "sings"), by=people.bob)
    suite.edits.update(actor=None)
    assert "deleted account" in page_of(client, people.alice, suite)


def test_files_discarded_drafts_and_frozen_revisions_are_part_of_it(client, people, suite):
    change(suite, cell("plays", "sings"), by=people.alice)
    services.freeze(suite, actor=people.alice)
    services.replace_draft(suite, read_suite(suite_bytes(items=2)), actor=people.bob)
    services.discard_draft(suite, actor=people.bob)
    text = page_of(client, people.alice, suite)
    places = [
        text.index(words) for words in ("discarded the draft", "replaced the draft", "r1</a> was frozen")
    ]
    assert places == sorted(places)
    assert "Open a draft" in text
    assert reverse("suite-past", args=[suite.slug, 1]) not in text  # there is nothing to restore it into


def test_a_draft_that_was_never_changed_has_no_history(client, people, suite):
    assert "has not been changed yet" in page_of(client, people.alice, suite)


def test_the_number_of_changes_is_bounded(people, suite, monkeypatch):
    monkeypatch.setattr(history, "KEEP_EDITS", 3)
    monkeypatch.setattr(history, "PRUNE_EVERY", 1)
    for k in range(5):
        change(suite, cell("plays" if k == 0 else f"v{k - 1}", f"v{k}"), by=people.alice)
    assert sorted(suite.edits.values_list("version", flat=True)) == [3, 4, 5]
    assert history.oldest_state(suite.draft) == 2


def test_the_size_of_earlier_states_is_bounded_and_the_changes_stay(client, people, suite, monkeypatch):
    for k in range(3):
        change(suite, cell("plays" if k == 0 else f"v{k - 1}", f"v{k}"), by=people.alice)
    monkeypatch.setattr(history, "PRUNE_EVERY", 1)
    monkeypatch.setattr(history, "KEEP_BYTES", 2 * suite.edits.get(version=3).undo_size + 10)
    change(suite, cell("v2", "v3"), by=people.alice)
    assert history.oldest_state(suite.draft) == 2
    assert suite.edits.count() == 4
    assert set(suite.edits.filter(version__lte=2).values_list("undo", "undo_size")) == {(None, 0)}
    text = page_of(client, people.alice, suite)
    assert text.count("not kept") == 1
    with pytest.raises(history.NotKept):
        history.state_at(suite.draft, 1)


def test_a_full_quota_drops_earlier_states_before_it_refuses_a_change(people, suite, settings):
    change(suite, cell("plays", "x" * 2_000), by=people.alice)
    change(suite, cell("x" * 2_000, "sings"), by=people.alice)
    settings.GYM_QUOTA_SUITES = (0, SUITES.amount_of(people.alice).bytes)
    change(suite, cell("sings", "y" * 300), by=people.alice)
    assert history.oldest_state(suite.draft) == 3
    assert SUITES.amount_of(people.alice).bytes <= settings.GYM_QUOTA_SUITES[1]


def earlier(client, person, suite):
    client.force_login(person)
    return client.get(reverse("suite-editor", args=[suite.slug])).context["earlier"]


def test_the_editor_can_undo_the_newest_own_changes(client, people, suite):
    change(suite, cell("plays", "sings"), by=people.alice)
    change(suite, cell("sings", "hums"), by=people.bob)
    change(suite, {"op": "delete_items", "items": [2]}, by=people.bob)
    assert earlier(client, people.alice, suite) == []
    assert earlier(client, people.bob, suite) == [
        {"version": 3, "words": "deleted item 2"},
        {"version": 2, "words": "changed item 1, match, region 2"},
    ]


@pytest.mark.parametrize("end", ["file", "freeze"])
def test_the_editor_undoes_nothing_before_a_file_or_a_frozen_revision(client, people, suite, end):
    change(suite, cell("plays", "sings"), by=people.alice)
    if end == "file":
        services.replace_draft(suite, read_suite(suite_bytes()), actor=people.alice)
    else:
        services.freeze(suite, actor=people.alice)
        services.open_draft(suite, actor=people.alice)
    assert earlier(client, people.alice, suite) == []
