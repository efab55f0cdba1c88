"""Suites are added to a collection from a list: by search, by tag, by ticking."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.collections.models import Collection
from gym.collections.services import MAX_ENTRIES
from lmgym.suites.formats import read_suite
from suites import services as suites
from tests.collections.test_collections import collection, entries, ticked
from tests.factories import make_revision, make_suite
from tests.lmgym.suites.documents import suite_bytes
from tests.once import once_a_module

NEW = "/collections/new/"


def make_five(people):
    """Create alice's suites a, b and c, and bob's d; a and d have the tag npi. bob also has a private suite, alice
    a draft."""
    made = {name: make_revision(people.alice, name=name, items=2) for name in "abc"}
    made["d"] = make_revision(people.bob, name="d", items=2)
    make_revision(people.bob, name="secret", visibility="private")
    make_suite(people.alice, name="begun", frozen=False)
    for name in "ad":
        suites.set_tags(made[name].suite, ["npi"])
    return made


built, people, made = once_a_module(make_five)


@pytest.fixture
def five(client, people, made):
    client.force_login(people.alice)
    return made


def text_of(response) -> str:
    """Return the page's HTML with every run of white space as one space."""
    return " ".join(response.content.decode().split())


def look(client, address=NEW, **sent):
    return client.post(address, {"step": "search", "title": "Half", "slug": "half-written"} | sent)


def names(rows) -> str:
    return "".join(row.suite.slug for row in rows)


def test_the_list_says_title_name_owner_and_revision_and_asks_for_no_slug(client, five):
    page = client.get(NEW)
    assert names(page.context["picker"].matches) == "abcd"
    text = page.content.decode()
    for words in ('for="pick-', "<code>d</code>", "<td>bob</td>", "<td>r1</td>", "npi (2)"):
        assert words in text
    assert "secret" not in text
    assert "begun" not in text
    assert 'name="suites"' not in text


def test_words_and_tag_narrow_it_and_nothing_is_lost_or_saved(client, five):
    page = look(client, q="d", revision=[five["b"].pk])
    picker = page.context["picker"]
    assert (page.status_code, names(picker.chosen), names(picker.matches)) == (200, "b", "d")
    assert page.context["form"].initial["title"] == "Half"
    assert "This field is required" not in page.content.decode()
    picker = look(client, tag="npi", revision=[five["b"].pk]).context["picker"]
    assert (names(picker.matches), picker.n_matches) == ("ad", 2)
    assert names(look(client, q="no such thing").context["picker"].matches) == ""
    assert not Collection.objects.exists()


def test_all_with_a_tag_are_added_with_one_button(client, five):
    page = look(client, tag="npi", step="all", revision=[five["b"].pk])
    assert names(page.context["picker"].chosen) == "bad"
    assert "Add all 2 with the tag npi" in text_of(look(client, tag="npi"))
    assert not Collection.objects.exists()


def test_of_a_suite_the_newest_frozen_revision_is_offered_and_older_ones_on_request(client, five, people):
    suite = five["a"].suite
    suites.replace_draft(suite, read_suite(suite_bytes(name="a", items=3)), actor=people.alice)
    newest = suites.freeze(suite, actor=people.alice)
    assert [row.pk for row in look(client, q="a").context["picker"].matches if row.suite_id == suite.pk] == [
        newest.pk
    ]
    both = look(client, q="a", older="1").context["picker"].matches
    assert [row.number for row in both if row.suite_id == suite.pk] == [2, 1]


@pytest.mark.parametrize(("places", "order"), [
    ({}, "abc"), ({"c": "1"}, "cab"), ({"a": "2"}, "bac"), ({"a": "3"}, "bca"), ({"b": ""}, "acb"),
    ({"b": "x\0"}, "acb"), ({"a": "9" * 30}, "bca"),
])  # fmt: skip
def test_places_give_the_order(client, five, people, places, order):
    made = collection(people, *(five[name] for name in "abc"), publish=False)
    sent = {f"place-{five[name].pk}": str(k) for k, name in enumerate("abc", 1)}
    sent |= {f"place-{five[name].pk}": place for name, place in places.items()}
    answer = client.post(
        reverse("collection-edit", args=["paper"]), ticked(*(five[n] for n in "abc"), **sent)
    )
    assert answer.status_code == 302
    assert "".join(entries(made)) == order


def test_what_is_chosen_is_ticked_and_comes_out_when_it_is_not(client, five, people):
    made = collection(people, five["a"], five["b"], publish=False)
    address = reverse("collection-edit", args=["paper"])
    page = client.get(address)
    assert names(page.context["picker"].chosen) == "ab"
    assert text_of(page).count(' checked> <label class="form-check-label" for="pick-') == 2
    assert client.post(address, ticked(five["b"], five["d"])).status_code == 302
    assert entries(made) == ["b", "d"]


def test_nothing_ticked_is_refused(client, five):
    answer = client.post(NEW, ticked())
    assert answer.status_code == 400
    assert "Tick at least one suite below." in answer.content.decode()


@pytest.mark.parametrize("key", ["secret", "begun", "0", "-1", "x", "9" * 40, "١"])
def test_what_one_may_not_have_is_refused_or_ignored(client, five, key):
    from suites.models import SuiteRevision

    known = SuiteRevision.objects.filter(suite__slug=key).first()
    answer = client.post(NEW, ticked(five["a"]) | {"revision": [five["a"].pk, known.pk if known else key]})
    if known or key == "0":
        assert (answer.status_code, "1 ticked suite is no longer available" in answer.content.decode()) == (
            400,
            True,
        )
    else:
        assert answer.status_code == 302
        assert entries(Collection.objects.get()) == ["a"]


def test_odd_words_are_answered(client, five):
    for odd in ("\0", "%", "_", "'\"", "x" * 5000, " ".join("abcdefghijklmnop")):
        assert look(client, q=odd, tag=odd, older=odd).status_code == 200


def test_more_than_a_collection_holds_is_refused_with_the_number(client, five, monkeypatch):
    monkeypatch.setattr("gym.collections.services.MAX_ENTRIES", 1)
    answer = client.post(NEW, ticked(five["a"], five["b"]))
    assert answer.status_code == 400
    assert "at most 1 suites" in answer.content.decode()
    assert MAX_ENTRIES == 500


def test_the_number_of_queries_does_not_grow_with_the_suites(
    client, five, people, django_assert_max_num_queries
):
    for k in range(6):
        make_revision(people.alice, name=f"more-{k}", items=2)
    with django_assert_max_num_queries(12):
        client.get(NEW)


def test_publishing_names_what_is_not_public_with_title_and_owner(client, five, people):
    suites.set_visibility(five["a"].suite, "private", actor=people.alice)
    collection(people, five["a"], five["b"], publish=False)
    page = client.post(reverse("collection-publish", args=["paper"]), follow=True).content.decode()
    assert "not public: “a” (a), by alice." in page
