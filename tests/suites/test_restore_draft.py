"""Restoring an earlier state of a draft, which is a change like any other."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmgym.suites.formats import read_suite
from suites import drafts, history, services
from suites.quotas import bytes_of
from suites.selectors import document_of
from tests.factories import make_suite
from tests.lmgym.suites.documents import suite_bytes
from tests.lmgym.suites.edits import an_edit, start
from tests.page_text import text_of


def change(suite, *ops, by):
    edits = [{"id": str(uuid4()), "ops": list(ops)}]
    return drafts.apply_edits(suite, suite.draft.edits, edits, actor=by)


def restored(suite, to, *, by):
    outcome = drafts.restore(suite, suite.draft.edits, to, key=str(uuid4()), actor=by)
    assert not outcome.conflicts
    return document_of(suite.draft)


def cell(old, new):
    return {"op": "set_cells", "cells": [[1, "match", 2, old, new]]}


@pytest.fixture
def suite(people):
    """alice's draft, changed by alice; bob may edit it, too."""
    suite = make_suite(people.alice, frozen=False, collaborator=people.bob)
    change(suite, cell("plays", "sings"), by=people.alice)
    change(suite, {"op": "delete_items", "items": [2]}, by=people.alice)
    return suite


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_state_is_restored_exactly_and_so_are_the_states_after_it(people, data):
    suite = services.import_suite(start(), actor=people.alice)
    states = [document_of(suite.draft)]
    for _ in range(data.draw(st.integers(1, 4))):
        change(suite, *data.draw(an_edit(states[-1])), by=people.alice)
        states.append(document_of(suite.draft))
    for to in data.draw(st.lists(st.sampled_from(range(len(states))), min_size=1, max_size=3)):
        assert restored(suite, to, by=people.alice) == states[to]
        assert suite.draft.size == bytes_of(states[to])
        states.append(states[to])
    assert history.oldest_state(suite.draft) == 0


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_an_editor_restores_a_state_as_a_new_change(client, people, suite, who):
    client.force_login(getattr(people, who))
    address = reverse("suite-past", args=[suite.slug, 1])
    page = client.get(address)
    assert "Items added" in text_of(page)
    response = client.post(address, {"version": page.context["draft"].edits})
    assert response.url == reverse("suite-editor", args=[suite.slug])
    assert document_of(suite.draft).items == (1, 2, 3)
    newest = suite.edits.order_by("-version").first()
    assert (newest.version, newest.actor, newest.ops) == (
        3,
        getattr(people, who),
        [{"op": "restore", "version": 1}],
    )
    listed = text_of(client.get(reverse("suite-history", args=[suite.slug])))
    assert "restored the state after change 1" in listed
    assert "deleted item 2" in listed


def test_the_state_before_every_change_has_a_page(client, people, suite):
    client.force_login(people.alice)
    page = client.get(reverse("suite-past", args=[suite.slug, 0]))
    assert "The draft before change 1" in text_of(page)
    assert page.context["cells"][0].new == "plays"


def test_a_draft_that_changed_since_the_page_was_opened_is_not_restored(client, people, suite):
    client.force_login(people.alice)
    address = reverse("suite-past", args=[suite.slug, 0])
    seen = client.get(address).context["draft"].edits
    change(suite, cell("sings", "hums"), by=people.bob)
    before = document_of(suite.draft)
    refused = client.post(address, {"version": seen})
    assert refused.status_code == 409
    assert "has changed since you opened this page" in text_of(refused)
    assert document_of(suite.draft) == before
    assert client.post(address, {"version": refused.context["draft"].edits}).status_code == 302


@pytest.mark.parametrize("version", ["", "x", "-1", "9" * 30])
def test_without_the_version_that_was_seen_nothing_is_restored(client, people, suite, version):
    client.force_login(people.alice)
    address = reverse("suite-past", args=[suite.slug, 0])
    assert client.post(address, {"version": version}).status_code == 400
    assert suite.draft.edits == 2


@pytest.mark.parametrize("version", [3, 10**30])
def test_a_state_that_never_was_is_not_found(client, people, suite, version):
    client.force_login(people.alice)
    assert client.get(reverse("suite-past", args=[suite.slug, version])).status_code == 404


def test_a_state_that_is_not_kept_is_not_found(client, people, suite):
    history.forget(suite, 1)
    client.force_login(people.alice)
    assert client.get(reverse("suite-past", args=[suite.slug, 0])).status_code == 404
    assert client.get(reverse("suite-past", args=[suite.slug, 1])).status_code == 200
    outcome = drafts.restore(suite, 2, 0, key="k", actor=people.alice)
    assert outcome.conflicts[0]["message"] == drafts.NOT_KEPT


def test_without_a_draft_the_reader_is_sent_to_open_one(client, people, suite):
    services.freeze(suite, actor=people.alice)
    client.force_login(people.alice)
    address = reverse("suite-past", args=[suite.slug, 0])
    for response in (client.get(address), client.post(address, {"version": 2})):
        assert response.url == reverse("suite-history", args=[suite.slug])
    assert suite.draft is None


def test_what_a_file_replaced_and_what_was_discarded_comes_back(people, suite):
    written = document_of(suite.draft)
    services.freeze(suite, actor=people.alice)
    services.replace_draft(
        suite, read_suite(suite_bytes(name="other", items=5)), actor=people.bob, join_policy="none"
    )
    other = document_of(suite.draft)
    services.replace_draft(suite, written, actor=people.bob)
    services.discard_draft(suite, actor=people.bob)
    services.open_draft(suite, actor=people.alice)
    assert restored(suite, 3, by=people.alice) == other
    assert suite.draft.join_policy == "none"
    assert restored(suite, 4, by=people.alice) == written
    assert restored(suite, 0, by=people.alice).items == (1, 2, 3)


def test_item_data_and_unknown_keys_come_back(people):
    document = start()
    assert document.extra["items"]
    suite = services.import_suite(document, actor=people.alice)
    change(suite, {"op": "delete_items", "items": [1, 2]}, by=people.alice)
    assert restored(suite, 0, by=people.alice) == document


def patch(client, suite, version, *ops):
    body = {"version": version, "edits": [{"id": str(uuid4()), "ops": list(ops)}]}
    address = reverse("api-draft-cells", args=[suite.slug])
    return client.patch(address, json.dumps(body), content_type="application/json")


def test_the_editor_restores_by_an_op(client, people, suite):
    client.force_login(people.alice)
    assert patch(client, suite, 2, {"op": "restore", "version": 1}).json() == {"version": 3}
    card = client.get(reverse("api-draft", args=[suite.slug])).json()
    assert (card["items"], card["version"], card["structure"]) == ([1, 2, 3], 3, 3)


@pytest.mark.parametrize("version", [-1, 3, "1", None])
def test_an_op_without_a_version_of_the_draft_is_refused(client, people, suite, version):
    client.force_login(people.alice)
    assert patch(client, suite, 2, {"op": "restore", "version": version}).status_code == 409
    assert suite.draft.edits == 2


def test_restoring_is_the_only_op_of_its_edit(client, people, suite):
    client.force_login(people.alice)
    answer = patch(client, suite, 2, {"op": "restore", "version": 1}, cell("sings", "hums"))
    assert answer.status_code == 409
    assert suite.draft.edits == 2


def test_restoring_never_takes_back_what_somebody_else_just_did(client, people, suite):
    change(suite, cell("sings", "hums"), by=people.bob)
    client.force_login(people.alice)
    (conflict,) = patch(client, suite, 2, {"op": "restore", "version": 0}).json()["conflicts"]
    assert (conflict["what"], conflict["message"], conflict["by"]) == ("edit", drafts.CHANGED, "bob")
