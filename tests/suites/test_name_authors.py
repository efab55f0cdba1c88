"""Authors of a suite: taken from the file, shown, edited, searched, cited and exported."""

from __future__ import annotations

import json
from importlib import import_module

import pytest
from django.apps import apps
from django.urls import reverse

from lmgym.suites.authors import read_authors
from lmgym.suites.formats import read_suite
from lmgym.text.bibtex import bibtex
from suites import services
from suites.models import Suite, SuiteRevision
from suites.options import SuiteOptions
from suites.selectors import document_of, export_document
from tests.lmgym.suites.documents import suite_json

NAMES = "Jennifer Hu, Jon Gauthier"


def imported(owner, author=NAMES, visibility="public", **meta):
    given = suite_json()
    given["meta"] |= meta | ({} if author is None else {"author": author})
    suite = services.import_suite(
        read_suite(json.dumps(given).encode()), SuiteOptions(visibility=visibility), actor=owner
    )
    services.freeze(suite, actor=owner)
    return suite


def downloaded(client, suite, number=1):
    return client.get(reverse("suite-download", args=[suite.slug, number, "json"])).json()["meta"]


def state_of(revision):
    fields = SuiteRevision.objects.filter(pk=revision.pk).values()[0]
    return fields, document_of(SuiteRevision.objects.get(pk=revision.pk))


def test_the_file_s_author_is_on_the_page_in_the_api_and_in_the_citation(client, people):
    suite = imported(people.alice)
    assert suite.author == NAMES
    page = " ".join(client.get(suite.get_absolute_url()).content.decode().split())
    assert "<dt>Authors</dt> <dd><div>Jennifer Hu</div><div>Jon Gauthier</div></dd>" in page
    assert "author = {Jennifer Hu and Jon Gauthier}" in page
    bib = client.get(reverse("export-suite", args=[suite.slug, 1, "bib"])).content.decode()
    assert "author = {Jennifer Hu and Jon Gauthier}" in bib
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
        assert suite.author == "Jennifer Hu\nJon Gauthier"


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


AFFILIATED = "Hu, Jennifer (MIT, Brain and Cognitive Sciences)\nGauthier, Jon"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (NAMES, ["Jennifer Hu", "Jon Gauthier"]),
        ("Hu, Jennifer and Gauthier, Jon", ["Hu, Jennifer", "Gauthier, Jon"]),
        ("Hu, Jennifer", ["Hu, Jennifer"]),
        (AFFILIATED, ["Hu, Jennifer", "Gauthier, Jon"]),
        ("Jennifer Hu (MIT), Jon Gauthier (MIT); Roger Levy", ["Jennifer Hu", "Jon Gauthier", "Roger Levy"]),
        ("Wilcox et al. 2018", ["Wilcox et al. 2018"]),
        ("\n \n", []),
    ],
)
def test_names_are_taken_apart_as_people_write_them(text, names):
    assert [author.name for author in read_authors(text)] == names


def test_affiliations_are_shown_exported_and_come_back(client, people):
    suite = imported(people.alice)
    services.edit_card(suite, actor=people.alice, author=AFFILIATED)
    page = client.get(suite.get_absolute_url()).content.decode()
    assert '<span class="note">MIT, Brain and Cognitive Sciences</span>' in page
    assert "author = {Hu, Jennifer and Gauthier, Jon}" in page
    assert downloaded(client, suite)["author"] == AFFILIATED.splitlines()
    again = services.import_suite(export_document(suite.latest_frozen), actor=people.alice)
    assert again.author == AFFILIATED


def test_the_api_reads_and_writes_authors_as_a_list(client, people):
    suite = imported(people.alice)
    client.force_login(people.alice)
    address = f"/api/v1/suites/{suite.slug}/"
    authors = [{"name": "Jennifer Hu", "affiliation": "MIT"}, {"name": "Jon Gauthier", "affiliation": ""}]
    answer = client.patch(address, {"authors": authors}, content_type="application/json")
    assert answer.json()["authors"] == authors
    assert answer.json()["author"] == "Jennifer Hu (MIT)\nJon Gauthier"
    both = client.patch(address, {"authors": authors, "author": "A"}, content_type="application/json")
    assert both.status_code == 400
    odd = client.patch(address, {"authors": [{"name": "A (B"}]}, content_type="application/json")
    assert odd.status_code == 400
    client.logout()
    services.set_visibility(suite, "unlisted", actor=people.alice)
    assert client.get(f"/api/v1/suites/{suite.slug}/").json()["authors"] == []


@pytest.mark.parametrize(
    ("name", "cited"),
    [
        ("Jennifer Hu", "Jennifer Hu"),
        ("Hu, Jennifer", "Hu, Jennifer"),
        ("LMLab", "{LMLab}"),
        ("Smith and Sons", "{Smith and Sons}"),
        ("Anonymous (under review)", "{Anonymous (under review)}"),
        ("A {B} Author", "A B Author"),
    ],
)
def test_bibtex_takes_no_name_apart_that_is_one(name, cited):
    entry = bibtex(key="k", title="t", authors=[name, "Jon Gauthier"], year=2026, address="h", note="")
    assert f"author = {{{cited} and Jon Gauthier}}" in entry


def test_authors_that_a_file_gave_as_a_list_have_a_line_each_after_the_migration(people):
    migration = import_module("suites.migrations.0004_language_and_authors")
    names = ["Hu, Jennifer", "van Dyke, Julie Ann"]
    suite, typed = imported(people.alice, author=names), imported(people.alice, name="typed")
    Suite.objects.filter(pk=suite.pk).update(author=", ".join(names))
    migration.authors_by_line(apps, None)
    assert Suite.objects.get(pk=suite.pk).author == "\n".join(names)
    assert Suite.objects.get(pk=typed.pk).author == NAMES
