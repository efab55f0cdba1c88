"""A new version from a file becomes the draft; frozen revisions stay as they are."""

from __future__ import annotations

import json

import pytest
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from lmgym.suites.formats import read_suite, write_long_csv
from suites import drafts, services
from suites.selectors import document_of
from tests.factories import make_suite
from tests.lmgym.suites.documents import suite_bytes, suite_json


def upload(client, user, suite, data: bytes, name: str = "new.json", **more):
    client.force_login(user)
    return client.post(
        reverse("suite-upload", args=[suite.slug]),
        {"file": SimpleUploadedFile(name, data), "join_policy": "space", **more},
    )


@pytest.mark.parametrize("who", ["alice", "bob"])
def test_the_file_becomes_the_next_draft(client, people, who):
    suite = make_suite(people.alice, collaborator=people.bob)
    before = document_of(suite.latest_frozen)
    response = upload(client, getattr(people, who), suite, suite_bytes(items=5), join_policy="natural")
    draft = suite.draft
    assert response.url == draft.get_absolute_url() == "/suites/agreement/r2/"
    assert (draft.number, draft.join_policy, draft.created_by) == (2, "natural", getattr(people, who))
    assert draft.sentences.count() == 10
    assert document_of(suite.latest_frozen) == before


def test_a_second_file_replaces_the_draft(client, people):
    suite = make_suite(people.alice)
    upload(client, people.alice, suite, suite_bytes(items=5))
    upload(client, people.alice, suite, suite_bytes(items=4))
    assert (suite.draft.number, suite.draft.sentences.count(), suite.revisions.count()) == (2, 8, 2)


def test_a_table_is_as_good_as_json_and_pasted_text_as_good_as_a_file(client, people):
    suite = make_suite(people.alice)
    table = write_long_csv(read_suite(suite_bytes(items=2)))
    upload(client, people.alice, suite, table.encode(), "new.csv")
    assert suite.draft.sentences.count() == 4
    client.post(reverse("suite-upload", args=[suite.slug]), {"text": table, "join_policy": "none"})
    assert (suite.draft.sentences.count(), suite.draft.join_policy) == (4, "none")


def test_the_form_starts_with_the_join_of_the_newest_revision(client, people):
    suite = make_suite(people.alice)
    services.replace_draft(suite, read_suite(suite_bytes()), actor=people.alice, join_policy="none")
    client.force_login(people.alice)
    page = client.get(reverse("suite-upload", args=[suite.slug])).content.decode()
    assert '<option value="none" selected>' in page


@pytest.mark.parametrize("way", ["page", "API"])
def test_a_file_that_lacks_descriptions_and_item_data_keeps_those_of_the_suite(client, people, way):
    suite = make_suite(people.alice)
    given = suite_json()
    given["predictions"][0] |= {"name": "agreement", "description": "The verb agrees."}
    given["items"][0]["conditions"][0]["data"] = {"list": "A"}
    draft = services.replace_draft(
        suite, read_suite(json.dumps(given).encode()), actor=people.alice, join_policy="space"
    )
    before = document_of(draft)
    if way == "page":
        assert upload(client, people.alice, suite, suite_bytes()).status_code == 302
    else:
        client.force_login(people.alice)
        answer = client.put(
            f"/api/v1/suites/{suite.slug}/draft/",
            {"document": suite_json()},
            content_type="application/json",
            headers={"If-Match": f'"r{draft.number}v{draft.edits}"'},
        )
        assert answer.status_code == 200, answer.content
    assert document_of(suite.draft) == before
    assert "kept from the previous version" in json.dumps(suite.draft.notices)


@pytest.mark.parametrize("data", [b"", b"{", suite_bytes(formulas=("(9;%match%) > 1",))])
def test_a_bad_file_is_a_400_and_keeps_the_draft(client, people, data):
    suite = make_suite(people.alice)
    upload(client, people.alice, suite, suite_bytes(items=5))
    response = upload(client, people.alice, suite, data)
    assert response.status_code == 400
    assert "empty" in response.content.decode() or "problem" in response.content.decode()
    assert suite.draft.sentences.count() == 10


def test_a_file_does_not_replace_what_somebody_changed_since_the_page_was_opened(client, people):
    suite = make_suite(people.alice, frozen=False)
    client.force_login(people.alice)
    page = client.get(reverse("suite-upload", args=[suite.slug]))
    theirs = {"id": "b", "ops": [{"op": "set_cells", "cells": [[1, "match", 2, "plays", "sang"]]}]}
    drafts.apply_edits(suite, suite.draft.edits, [theirs], actor=people.staff)
    refused = upload(client, people.alice, suite, suite_bytes(items=5), version=page.context["version"])
    assert refused.status_code == 400
    assert "Another editor changed the draft" in refused.content.decode()
    assert suite.draft.sentences.get(item=1, condition="match").contents[1] == "sang"
    again = upload(client, people.alice, suite, suite_bytes(items=5), version=refused.context["version"])
    assert (again.status_code, suite.draft.sentences.count()) == (302, 10)


def test_a_draft_is_changed_by_file_without_javascript(client, people):
    """The sentences are downloaded as a table and the predictions as JSON, changed, and uploaded over the
    draft.
    """
    suite = make_suite(people.alice, frozen=False)
    client.force_login(people.alice)
    for form, old, new in (("tsv", "plays", "sings"), ("json", ">", "<")):
        download = reverse("suite-download", args=[suite.slug, suite.draft.number, form])
        for address in (reverse("suite-editor", args=[suite.slug]), suite.draft.get_absolute_url()):
            page = client.get(address).content.decode()
            links = page[page.index("<noscript>") : page.index("</noscript>")]
            assert download in links
            assert reverse("suite-upload", args=[suite.slug]) in links
        data = client.get(download).content.replace(old.encode(), new.encode(), 1)
        assert upload(client, people.alice, suite, data, f"draft.{form}").status_code == 302
    assert suite.draft.sentences.get(item=1, condition="match").contents[1] == "sings"
    assert suite.draft.predictions.get().formula == "(2;%mismatch%) < (2;%match%)"


def test_file_and_text_at_once_are_refused(client, people):
    suite = make_suite(people.alice)
    response = upload(client, people.alice, suite, suite_bytes(), text=suite_bytes().decode())
    assert response.status_code == 400
    assert "Choose either a file or pasted text" in response.content.decode()


def test_a_new_version_changes_nothing_the_suite_says_about_itself(client, people):
    suite = make_suite(people.alice)
    services.set_tags(suite, ["kept"])
    upload(client, people.alice, suite, suite_bytes(name="another name", items=2))
    suite.refresh_from_db()
    assert (suite.slug, suite.title, suite.visibility) == ("agreement", "agreement", "public")
    assert [tag.name for tag in suite.tags.all()] == ["kept"]


def test_strangers_upload_nothing(client, people):
    suite = make_suite(people.alice)
    assert upload(client, people.charlie, suite, suite_bytes()).status_code == 403
    with pytest.raises(PermissionDenied):
        services.replace_draft(suite, read_suite(suite_bytes()), actor=people.charlie)
    assert suite.draft is None


def test_a_discarded_draft_leaves_the_frozen_revision(client, people):
    suite = make_suite(people.alice)
    upload(client, people.alice, suite, suite_bytes(items=5))
    response = client.post(reverse("suite-discard-draft", args=[suite.slug]), follow=True)
    assert "Frozen revisions are unchanged" in response.content.decode()
    assert (suite.draft, suite.latest_frozen.number) == (None, 1)
