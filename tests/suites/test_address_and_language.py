"""Slugs from titles in any script, which can be changed until the first freeze; and the languages of
suites."""

from __future__ import annotations

import json

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from gym.addresses import slug_from
from lmgym.suites.formats import read_suite
from suites import services
from suites.models import Suite
from suites.options import SuiteOptions
from suites.selectors import export_document
from tests.factories import make_suite
from tests.lmgym.suites.documents import suite_bytes, suite_json


@pytest.fixture
def signed_in(client, people):
    client.force_login(people.alice)
    return client


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Согласование подлежащего", "soglasovanie-podlezhashchego"),
        ("主谓一致", "zhuweiyizhi"),
        ("Übereinstimmung: Größe & Zahl", "ubereinstimmung-grosse-zahl"),
        ("Συμφωνία", "symfonia"),
        ("हिन्दी", "hindi"),
        ("???", "suite"),
        ("x" * 69 + " y", "x" * 69),
    ],
)
def test_a_title_in_any_script_has_a_readable_address(title, slug):
    assert slug_from(title, "suite") == slug


def test_two_suites_of_one_foreign_title_get_two_addresses(signed_in):
    for _ in range(2):
        signed_in.post(
            reverse("suite-new"), {"by": "guided", "name": "主谓一致", "conditions": "a\nb", "regions": "R"}
        )
    assert sorted(Suite.objects.values_list("slug", flat=True)) == ["zhuweiyizhi", "zhuweiyizhi-2"]


def details(client, suite, **changes):
    form = {"title": suite.title, "visibility": suite.visibility, "slug": suite.slug} | changes
    return client.post(reverse("suite-edit", args=[suite.slug]), form)


def test_the_address_of_a_draft_can_be_changed_and_a_public_one_leads_on(signed_in, people):
    suite = make_suite(people.alice, frozen=False)
    assert details(signed_in, suite, slug="number-agreement").url == "/suites/number-agreement/"
    old = signed_in.get("/suites/agreement/")
    assert (old.status_code, old.url) == (307, "/suites/number-agreement/")
    other = make_suite(people.alice, frozen=False, name="other")
    assert "is taken" in details(signed_in, other, slug="agreement").content.decode()


@pytest.mark.parametrize("slug", ["taken", "new", "import", "two words", "ü", ""])
def test_an_address_that_cannot_be_is_said_beside_the_field(signed_in, people, slug):
    make_suite(people.bob, name="taken", visibility="private")
    suite = make_suite(people.alice, frozen=False)
    answer = details(signed_in, suite, slug=slug)
    assert answer.status_code == 400
    assert answer.context["form"].has_error("slug")
    assert Suite.objects.filter(slug="agreement").exists()


def test_after_the_first_freeze_the_address_stays(signed_in, people):
    suite = make_suite(people.alice)
    services.open_draft(suite, actor=people.alice)
    page = signed_in.get(reverse("suite-edit", args=[suite.slug]))
    assert "slug" not in page.context["form"].fields
    details(signed_in, suite, slug="other")
    assert Suite.objects.get().slug == "agreement"
    answer = signed_in.patch("/api/v1/suites/agreement/", {"slug": "other"}, content_type="application/json")
    assert answer.status_code == 400
    assert "may have been cited" in answer.content.decode()


def test_an_unlisted_draft_keeps_its_secret_address(people):
    suite = make_suite(people.alice, frozen=False, visibility="unlisted")
    with pytest.raises(ValidationError, match="secret address"):
        services.edit_card(suite, actor=people.alice, slug="open")


def test_the_api_changes_the_address_of_a_draft_and_names_the_new_one(signed_in, people):
    make_suite(people.alice, frozen=False)
    answer = signed_in.patch("/api/v1/suites/agreement/", {"slug": "mine"}, content_type="application/json")
    assert answer.json()["slug"] == "mine"


def test_the_freeze_page_offers_the_address_before_the_first_freeze_only(signed_in, people):
    suite = make_suite(people.alice, frozen=False)
    offered = f"{reverse('suite-edit', args=[suite.slug])}#id_slug"
    assert offered in signed_in.get(reverse("suite-freeze", args=[suite.slug])).content.decode()
    services.freeze(suite, actor=people.alice)
    services.open_draft(suite, actor=people.alice)
    assert offered not in signed_in.get(reverse("suite-freeze", args=[suite.slug])).content.decode()


# ---- language ----


@pytest.mark.parametrize(
    ("by", "fields"),
    [
        ("guided", {"conditions": "a\nb", "regions": "R"}),
        ("paste", {"text": "item\tcondition\tR\n1\ta\tx\n1\tb\ty"}),
        ("template", {"template": "agreement"}),
    ],
)
@pytest.mark.parametrize(("typed", "kept"), [("Yoruba", "yo"), ("", "")])
def test_new_suite_asks_for_the_language_and_assumes_none(signed_in, by, fields, typed, kept):
    signed_in.post(reverse("suite-new"), {"by": by, "name": "N", "language": typed, **fields})
    suite = Suite.objects.get()
    assert suite.language == kept
    shown = "Yoruba (yo)" if kept else "not stated"
    assert f"<dt>Language</dt><dd>{shown}</dd>" in signed_in.get(suite.get_absolute_url()).content.decode()


def test_english_templates_say_english_until_somebody_says_otherwise(signed_in):
    page = signed_in.get(reverse("suite-new"), {"by": "template"})
    assert page.context["form"]["language"].value() == "en"
    assert not signed_in.get(reverse("suite-new")).context["form"]["language"].value()


def test_an_unknown_language_is_refused_in_words(signed_in):
    given = {"by": "guided", "name": "N", "conditions": "a\nb", "regions": "R", "language": "Klingonese"}
    answer = signed_in.post(reverse("suite-new"), given)
    assert answer.status_code == 400
    assert "“Klingonese” is not in the list" in answer.content.decode()


@pytest.mark.parametrize(("said", "kept"), [("de", "de"), ("German", "de"), ("??", ""), (7, ""), (None, "")])
def test_an_import_takes_the_language_of_the_file_and_the_file_keeps_it(people, said, kept):
    given = suite_json()
    if said is not None:
        given["meta"]["language"] = said
    suite = services.import_suite(read_suite(json.dumps(given).encode()), actor=people.alice)
    assert suite.language == kept
    assert export_document(suite.draft).meta.get("language") == said


def test_the_language_that_somebody_chose_is_in_the_file(people):
    suite = services.import_suite(read_suite(suite_bytes()), SuiteOptions(language="yo"), actor=people.alice)
    document = export_document(suite.draft)
    assert document.meta["language"] == "yo"
    assert services.import_suite(document, actor=people.alice).language == "yo"


def test_the_api_takes_an_unstated_language(signed_in, people):
    make_suite(people.alice)
    address = "/api/v1/suites/agreement/"
    for language in ("de", ""):
        answer = signed_in.patch(address, {"language": language}, content_type="application/json")
        assert answer.json()["language"] == language
