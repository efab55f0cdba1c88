"""Who made a suite: taken from the file, shown, edited, searched, cited and given back."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from suites import services
from suites.formats import read_suite
from suites.models import SuiteRevision
from suites.selectors import document_of, export_document
from tests.factories import suite_json

NAMES = "Jennifer Hu, Jon Gauthier"


def imported(owner, author=NAMES, visibility="public", **meta):
    given = suite_json()
    given["meta"] |= meta | ({} if author is None else {"author": author})
    suite = services.import_suite(read_suite(json.dumps(given).encode()), actor=owner, visibility=visibility)
    services.freeze(suite, actor=owner)
    return suite


def downloaded(client, suite, number=1):
    return client.get(reverse("suite-download", args=[suite.slug, number, "json"])).json()["meta"]


def state_of(revision):
    """All that a frozen revision is."""
    fields = SuiteRevision.objects.filter(pk=revision.pk).values()[0]
    return fields, document_of(SuiteRevision.objects.get(pk=revision.pk))


def test_the_file_s_author_is_on_the_page_in_the_api_and_in_the_citation(client, people):
    suite = imported(people.alice)
    assert suite.author == NAMES
    page = client.get(suite.get_absolute_url()).content.decode()
    assert f"<dt>Author</dt><dd>{NAMES}</dd>" in page
    assert f"author = {{{{{NAMES}}}}}" in page
    bib = client.get(reverse("export-suite", args=[suite.slug, 1, "bib"])).content.decode()
    assert f"author = {{{{{NAMES}}}}}" in bib
    assert client.get(f"/api/v1/suites/{suite.slug}/").json()["author"] == NAMES


def test_without_an_author_citations_name_the_owner(client, people):
    suite = imported(people.alice, author=None)
    assert "<dt>Author</dt>" not in client.get(suite.get_absolute_url()).content.decode()
    bib = client.get(reverse("export-suite", args=[suite.slug, 1, "bib"])).content.decode()
    assert f"author = {{{{{people.alice.display_name}}}}}" in bib


def test_an_edited_author_is_what_files_say(client, people):
    suite = imported(people.alice)
    before = state_of(suite.latest_frozen)
    client.force_login(people.alice)
    page = client.get(reverse("suite-edit", args=[suite.slug]))
    assert page.context["form"].initial["author"] == NAMES
    card = {"title": "Agreement", "language": "en", "visibility": "public", "author": "Alice Adams"}
    assert client.post(reverse("suite-edit", args=[suite.slug]), card).url == suite.get_absolute_url()
    assert downloaded(client, suite)["author"] == "Alice Adams"
    suite.refresh_from_db()
    again = services.import_suite(export_document(suite.latest_frozen), actor=people.alice)
    assert again.author == "Alice Adams"
    assert state_of(suite.latest_frozen) == before


@pytest.mark.parametrize(("who", "status"), [("alice", 200), ("charlie", 403)])
def test_the_api_changes_the_author_for_whoever_may_edit(client, people, who, status):
    suite = imported(people.alice)
    client.force_login(getattr(people, who))
    answer = client.patch(
        f"/api/v1/suites/{suite.slug}/", {"author": "Someone Else"}, content_type="application/json"
    )
    assert answer.status_code == status
    suite.refresh_from_db()
    assert suite.author == ("Someone Else" if status == 200 else NAMES)


@pytest.mark.parametrize(
    "author", [NAMES, "", None, ["Jennifer Hu", "Jon Gauthier"], {"name": "J. Hu"}, 7, [1], " J.  Hu "]
)
def test_an_import_and_an_export_lose_nothing(client, people, author):
    suite = imported(people.alice, author=author)
    assert downloaded(client, suite).get("author") == author
    if isinstance(author, list) and author != [1]:
        assert suite.author == NAMES


def test_authors_are_searched(client, people):
    imported(people.alice)
    found = client.get(reverse("suite-list"), {"q": "gauthier"}).content.decode()
    assert "/suites/agreement/" in found
    assert client.get("/api/v1/suites/", {"q": "gauthier"}).json()["results"][0]["slug"] == "agreement"
    assert client.get("/api/v1/suites/", {"q": "levy"}).json()["results"] == []


def test_a_new_version_that_names_other_people_takes_their_names_and_leaves_the_old_one_its_own(
    client, people
):
    suite = imported(people.alice)
    given = suite_json()
    given["meta"]["author"] = "Roger Levy"
    services.replace_draft(suite, read_suite(json.dumps(given).encode()), actor=people.alice)
    services.freeze(suite, actor=people.alice)
    suite.refresh_from_db()
    assert suite.author == "Roger Levy"
    assert [downloaded(client, suite, number)["author"] for number in (1, 2)] == [NAMES, "Roger Levy"]


def test_a_new_version_of_the_same_people_leaves_an_edited_author(people):
    suite = imported(people.alice)
    services.edit_card(suite, actor=people.alice, author="Alice Adams")
    services.replace_draft(suite, document_of(suite.latest_frozen), actor=people.alice)
    suite.refresh_from_db()
    assert suite.author == "Alice Adams"


def test_a_copy_names_the_same_author(people):
    suite = imported(people.alice)
    services.edit_card(suite, actor=people.alice, author="Alice Adams")
    copy = services.copy_suite(suite.latest_frozen, actor=people.bob, title="Mine", visibility="private")
    assert copy.author == "Alice Adams"


def test_reviewers_of_an_unlisted_suite_do_not_read_the_author(client, people):
    suite = imported(people.alice, visibility="unlisted")
    client.force_login(people.charlie)
    assert NAMES not in client.get(suite.get_absolute_url()).content.decode()
    assert client.get(f"/api/v1/suites/{suite.slug}/").json()["author"] == ""
    assert "author" not in downloaded(client, suite)
    given = suite_json()
    given["meta"]["author"] = "Roger Levy"
    services.replace_draft(suite, read_suite(json.dumps(given).encode()), actor=people.alice)
    services.freeze(suite, actor=people.alice)
    for compared in (
        reverse("suite-diff", args=[suite.slug, 1, 2]),
        f"/api/v1/suites/{suite.slug}/diff/1/2/",
    ):
        answer = client.get(compared)
        assert answer.status_code == 200
        assert "Roger Levy" not in answer.content.decode()
    client.force_login(people.alice)
    assert downloaded(client, suite)["author"] == NAMES
