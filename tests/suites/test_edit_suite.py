"""A suite's metadata can change at any time; its sentences belong to revisions."""

from __future__ import annotations

import pytest
from django.urls import reverse

from suites.selectors import document_of
from tests.factories import make_suite

FORM = {
    "title": "Number agreement",
    "description": "Does the verb agree?",
    "tag_names": "Agreement, subject verb, agreement,",
    "language": "zh-Hans",
    "licence": "CC-BY-4.0",
    "visibility": "private",
    "reference": "Somebody 2020",
    "bibtex": "@misc{x}",
    "comment": "Item 3 is odd.",
}


def edit(client, user, suite, **changes):
    client.force_login(user)
    return client.post(reverse("suite-edit", args=[suite.slug]), FORM | {"confirmed": "1"} | changes)


@pytest.mark.parametrize("who", ["alice", "bob", "staff"])
def test_owner_collaborator_and_staff_change_everything_about_it(client, people, who):
    suite = make_suite(people.alice, collaborator=people.bob)
    before = document_of(suite.latest_frozen), suite.latest_frozen.sha256
    assert edit(client, getattr(people, who), suite).url == suite.get_absolute_url()
    suite.refresh_from_db()
    assert {name: getattr(suite, name) for name in FORM if name != "tag_names"} == {
        name: value for name, value in FORM.items() if name != "tag_names"
    }
    assert [tag.name for tag in suite.tags.all()] == ["agreement", "subject-verb"]
    assert (document_of(suite.latest_frozen), suite.latest_frozen.sha256) == before
    assert (suite.slug, suite.owner) == ("agreement", people.alice)


def test_the_form_starts_with_what_there_is(client, people):
    suite = make_suite(people.alice)
    edit(client, people.alice, suite)
    page = client.get(reverse("suite-edit", args=[suite.slug])).content.decode()
    for text in ("agreement, subject-verb", "Does the verb agree?", "zh-Hans", "Item 3 is odd."):
        assert text in page


def test_tags_can_be_taken_off(client, people):
    suite = make_suite(people.alice)
    edit(client, people.alice, suite)
    edit(client, people.alice, suite, tag_names="")
    assert suite.tags.count() == 0


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"title": ""}, "This field is required."),
        ({"title": "x" * 201}, "at most 200 characters"),
        ({"language": "English!"}, "Use a language tag such as en, de or zh-Hans."),
        ({"visibility": "everybody"}, "everybody is not one of the available choices"),
    ],
)
def test_what_does_not_fit_is_a_400_and_changes_nothing(client, people, changes, says):
    suite = make_suite(people.alice)
    response = edit(client, people.alice, suite, **changes)
    assert response.status_code == 400
    assert says in response.content.decode()
    suite.refresh_from_db()
    assert (suite.title, suite.visibility, suite.tags.count()) == ("agreement", "public", 0)


def test_owner_slug_and_revisions_cannot_be_posted(client, people):
    suite = make_suite(people.alice)
    edit(
        client,
        people.alice,
        suite,
        slug="mine",
        owner=people.charlie.pk,
        revisions="",
        collaborators=people.charlie.pk,
    )
    suite.refresh_from_db()
    assert (suite.slug, suite.owner, suite.revisions.count()) == ("agreement", people.alice, 1)
    assert suite.collaborations.count() == 0


def test_strangers_and_viewers_edit_nothing(client, people):

    suite = make_suite(people.alice)
    private = make_suite(people.alice, name="hidden", visibility="private")
    private.collaborations.create(user=people.bob, role="view")
    assert edit(client, people.charlie, suite).status_code == 403
    assert edit(client, people.charlie, private).status_code == 404
    assert edit(client, people.bob, private).status_code == 403
    suite.refresh_from_db()
    assert suite.title == "agreement"


def test_a_suite_made_private_is_gone_for_strangers(client, people):
    suite = make_suite(people.alice)
    edit(client, people.alice, suite, visibility="private")
    client.logout()
    assert client.get(suite.get_absolute_url()).status_code == 410


def test_an_unlisted_suite_has_an_address_that_nobody_guesses(client, people):
    suite = make_suite(people.alice)
    edit(client, people.alice, suite, visibility="unlisted")
    suite.refresh_from_db()
    secret = suite.get_absolute_url()
    assert len(suite.slug) == len("agreement-") + 20
    client.logout()
    assert client.get("/suites/agreement/").status_code == 410
    assert client.get(secret).status_code == 200


def test_the_secret_address_stops_working_when_the_suite_is_private_again(client, people):
    suite = make_suite(people.alice)
    edit(client, people.alice, suite, visibility="unlisted")
    suite.refresh_from_db()
    secret = suite.get_absolute_url()
    edit(client, people.alice, suite, visibility="private")
    suite.refresh_from_db()
    assert suite.slug == "agreement"
    assert client.get(secret).status_code == 404
