"""Quota on the number and bytes of suites per account: every way of creating one checks it, and a refusal
leaves nothing behind."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse

from gym.accounts.quotas import OverQuota
from lmgym.suites.formats import read_suite
from suites import drafts, services
from suites.models import DraftEdit, Sentence, Suite, SuiteRevision
from suites.quotas import SUITES, bytes_of
from suites.selectors import document_of
from tests.factories import make_suite
from tests.lmgym.suites.documents import suite_bytes, suite_json

FULL = "You have 1 suite; the limit is 1"
WIDE = "item\tcondition\tSubject\tVerb\n1\tmatch\tThe woman\tplays\n\tmismatch\tThe woman\tplay\n"


@pytest.fixture
def suite(client, people):
    client.force_login(people.alice)
    return make_suite(people.alice)


def counts() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Suite, SuiteRevision, Sentence, DraftEdit))


def upload(name: str = "more"):
    return SimpleUploadedFile(f"{name}.json", suite_bytes(name=name))


GUIDED = {"name": "More", "conditions": "match\nmismatch", "regions": "Subject\nVerb", "first": "match"}


@pytest.mark.parametrize(
    "post",
    [
        lambda client: client.post(reverse("suite-new"), {"by": "file", "name": "More", "file": upload()}),
        lambda client: client.post(reverse("suite-new"), {"by": "paste", "name": "More", "text": WIDE}),
        lambda client: client.post(
            reverse("suite-new"), {"by": "copy", "suite": Suite.objects.get().pk, "name": "More"}
        ),
        lambda client: client.post(
            reverse("suite-copy", args=["agreement"]),
            {"name": "More", "visibility": "private", "revision": SuiteRevision.objects.get().pk},
        ),
        lambda client: client.post(
            "/api/v1/suites/", {"document": suite_json(items=4)}, content_type="application/json"
        ),
        lambda client: client.post("/api/v1/suites/", {"file": upload(), "again": True}),
    ],
    ids=["file", "paste", "copy", "copy page", "api", "api file"],
)
def test_one_more_is_refused_wherever_it_is_made(client, suite, settings, post):
    settings.GYM_QUOTA_SUITES = (1, 0)
    before = counts()
    answer = post(client)
    assert (answer.status_code, counts()) == (400, before)
    assert FULL in answer.content.decode()


def test_a_design_is_refused_too(client, suite, settings):
    settings.GYM_QUOTA_SUITES = (1, 0)
    page = client.post(reverse("suite-new"), {"by": "template", "template": "agreement", "name": "More"})
    assert (page.status_code, Suite.objects.count()) == (400, 1)


def test_the_command_is_held_to_the_owners_quota(suite, settings, tmp_path):
    settings.GYM_QUOTA_SUITES = (1, 0)
    path = tmp_path / "more.json"
    path.write_bytes(suite_bytes(name="more"))
    with pytest.raises(Exception, match=FULL):
        call_command("import_suite", str(path), "--owner", "alice")
    call_command("import_suite", str(path), "--owner", "staff")
    assert set(Suite.objects.values_list("owner__username", flat=True)) == {"alice", "staff"}


def test_a_revision_knows_its_size(suite, people):
    revision = suite.latest_frozen
    assert revision.size == bytes_of(document_of(revision))
    draft = services.open_draft(suite, actor=people.alice)
    assert draft.size == revision.size
    assert SUITES.amount_of(people.alice).bytes > 2 * revision.size


def no_more_bytes(settings, owner) -> None:
    settings.GYM_QUOTA_SUITES = (0, SUITES.amount_of(owner).bytes)


def test_an_old_revision_is_not_opened_again_without_room(client, suite, people, settings):
    no_more_bytes(settings, people.alice)
    before = counts()
    page = client.post(reverse("suite-editor", args=[suite.slug]))
    assert (page.status_code, counts()) == (400, before)
    assert "your suites would take up" in page.content.decode()
    assert client.post(f"/api/v1/suites/{suite.slug}/draft/").status_code == 400


def test_a_larger_version_is_refused_and_a_smaller_one_is_not(client, suite, people, settings):
    draft = services.replace_draft(suite, read_suite(suite_bytes(items=5)), actor=people.alice)
    no_more_bytes(settings, people.alice)
    address = reverse("suite-upload", args=[suite.slug])
    larger = {
        "file": SimpleUploadedFile("a.json", suite_bytes(items=50)),
        "join_policy": "space",
        "version": draft.edits,
    }
    page = client.post(address, larger)
    assert page.status_code == 400
    assert "the limit is" in page.content.decode()
    assert suite.draft.sentences.count() == 10
    services.replace_draft(suite, read_suite(suite_bytes(items=2)), actor=people.alice)
    assert suite.draft.sentences.count() == 4


def typed(suite, text: str, key: str = "k"):
    old = suite.draft.sentences.get(item=1, condition="match").contents[0]
    op = {"op": "set_cells", "cells": [[1, "match", 1, old, text]]}
    return {"version": suite.draft.edits, "edits": [{"id": key, "ops": [op]}]}


def patch(client, suite, body):
    address = reverse("api-draft-cells", args=[suite.slug])
    return client.patch(address, json.dumps(body), content_type="application/json")


def test_a_draft_grows_by_edits_until_the_bytes_are_used_up(client, suite, people, settings):
    services.open_draft(suite, actor=people.alice)
    no_more_bytes(settings, people.alice)
    size, version = suite.draft.size, suite.draft.edits
    answer = patch(client, suite, typed(suite, "x" * 2_000))
    assert answer.status_code == 400
    assert "the limit is" in answer.json()["detail"]
    assert (suite.draft.size, suite.draft.edits, DraftEdit.objects.count()) == (size, version, 0)
    settings.GYM_QUOTA_SUITES = (0, 0)
    assert patch(client, suite, typed(suite, "x" * 2_000)).status_code == 200
    assert suite.draft.size > size + 1_900
    assert DraftEdit.objects.get().size > 2_000


def test_the_log_of_edits_counts(suite, people):
    services.open_draft(suite, actor=people.alice)
    before = SUITES.amount_of(people.alice).bytes
    for k, text in enumerate(["x" * 2_000, "x"] * 3):
        body = typed(suite, text, str(k))
        drafts.apply_edits(suite, body["version"], body["edits"], actor=people.alice)
    assert SUITES.amount_of(people.alice).bytes > before + 6 * 2_000


@pytest.mark.parametrize(
    ("name", "data"),
    [("suite-edit", {"title": "T", "language": "en", "visibility": "public", "description": "x" * 9_000}),
     ("suite-errata", {"errata": "x" * 9_000})],
)  # fmt: skip
def test_long_texts_beside_the_sentences_count(client, suite, people, settings, name, data):
    no_more_bytes(settings, people.alice)
    args = [suite.slug, 1] if name == "suite-errata" else [suite.slug]
    page = client.post(reverse(name, args=args), data)
    assert page.status_code == 400
    assert "the limit is" in page.content.decode()
    suite.refresh_from_db()
    assert (suite.description, suite.latest_frozen.errata) == ("", "")


def test_an_edit_by_the_owners_collaborator_is_refused_without_saying_how_much_there_is(people, settings):
    suite = make_suite(people.alice, collaborator=people.bob)
    no_more_bytes(settings, people.alice)
    with pytest.raises(OverQuota, match="alice owns this"):
        services.open_draft(suite, actor=people.bob)


def test_a_suite_whose_card_is_too_long_is_not_made_at_all(client, suite, people, settings):
    settings.GYM_QUOTA_SUITES = (0, SUITES.amount_of(people.alice).bytes + 5_000)
    body = {"document": suite_json(name="more"), "again": True, "description": "x" * 9_000}
    assert client.post("/api/v1/suites/", body, content_type="application/json").status_code == 400
    assert Suite.objects.count() == 1
