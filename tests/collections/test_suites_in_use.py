"""A suite of a published collection stays public at its address: by page, API and admin, and when its owner's
account is deleted."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from gym.collections.services import create_collection, publish_collection
from gym.pages.account_deletion import delete_account
from suites import services
from suites.models import Suite
from suites.signals import InUse
from tests.factories import make_model, make_revision
from tests.runs.boards import finished_run

HOLDS = "The published collection “A paper” contains this suite"


@pytest.fixture
def member(people) -> Suite:
    revision = make_revision(people.alice, name="a", items=3)
    collect(people, revision)
    return revision.suite


def collect(people, *revisions, publish=True):
    made = create_collection(
        actor=people.alice, slug="paper", title="A paper", description="", reference="", revisions=revisions
    )
    if publish:
        publish_collection(made, actor=people.alice)
    return made


@pytest.mark.parametrize("who", ["alice", "staff"])
@pytest.mark.parametrize("visibility", ["private", "unlisted"])
def test_it_is_not_hidden(client, people, member, visibility, who):
    person = getattr(people, who)
    with pytest.raises(InUse, match=HOLDS):
        services.set_visibility(Suite.objects.get(pk=member.pk), visibility, actor=person)
    client.force_login(person)
    given = {"title": "Hidden", "language": "en", "visibility": visibility, "confirmed": "1"}
    page = client.post(reverse("suite-edit", args=["a"]), given)
    assert page.status_code == 400
    assert HOLDS in page.content.decode()
    answer = client.patch("/api/v1/suites/a/", {"visibility": visibility}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (409, "in-use")
    assert HOLDS in answer.json()["detail"]
    member.refresh_from_db()
    assert (member.visibility, member.slug, member.title) == ("public", "a", "a")


def test_the_admin_says_why_not(client, people, member):
    client.force_login(people.staff)
    address = reverse("admin:suites_suite_change", args=[member.pk])
    form = client.get(address).context["adminform"].form
    given = {name: form.get_initial_for_field(field, name) or "" for name, field in form.fields.items()}
    inline = {"collaborations-TOTAL_FORMS": 0, "collaborations-INITIAL_FORMS": 0}
    answer = client.post(address, given | {"visibility": "private", "tags": []} | inline)
    assert answer.status_code == 200
    assert HOLDS in answer.content.decode()
    deletion = client.post(reverse("admin:suites_suite_delete", args=[member.pk]), {"post": "yes"})
    assert deletion.status_code == 200
    member.refresh_from_db()
    assert member.visibility == "public"


def test_it_is_not_deleted_and_the_answer_does_not_say_hide_it(client, people, member):
    client.force_login(people.alice)
    page = client.post(reverse("suite-delete", args=["a"]), follow=True).content.decode()
    assert HOLDS in page
    assert "Make it private instead" not in page
    assert client.delete("/api/v1/suites/a/").status_code == 409
    assert Suite.objects.filter(pk=member.pk).exists()


def test_it_outlives_its_owners_account(client, people, member):
    delete_account(people.alice)
    member.refresh_from_db()
    assert (member.visibility, member.slug) == ("public", "a")
    assert client.get("/collections/paper/").context["revisions"]


def test_everything_else_about_it_can_change(client, people, member):
    client.force_login(people.alice)
    given = {"title": "Renamed", "language": "en", "visibility": "public"}
    assert client.post(reverse("suite-edit", args=["a"]), given).status_code == 302
    services.open_draft(member, actor=people.alice)


def test_before_the_collection_is_published_it_can(people):
    revision = make_revision(people.alice, name="a", items=3)
    made = collect(people, revision, publish=False)
    services.set_visibility(revision.suite, "private", actor=people.alice)
    with pytest.raises(ValidationError, match="not public"):
        publish_collection(made, actor=people.alice)


def test_a_suite_that_was_hidden_before_this_was_refused_is_missed_aloud(client, people, member):
    finished_run(member.latest_frozen, make_model(people.alice, slug="m"), [1, 1, 0])
    Suite.objects.filter(pk=member.pk).update(visibility="private")
    page = " ".join(client.get("/collections/paper/").content.decode().split())
    assert "This collection contains 1 suite, of which 1 is no longer public" in page


def test_publishing_asks_first_and_says_what_cannot_be_undone(client, people):
    made = collect(people, make_revision(people.alice, name="a", items=3), publish=False)
    client.force_login(people.alice)
    assert "Publish permanently…" in client.get("/collections/paper/").content.decode()
    address = reverse("collection-publish", args=["paper"])
    page = client.get(address).content.decode()
    for words in ("This cannot be undone", "Every suite in it stays public", "cannot be deleted"):
        assert words in page
    made.refresh_from_db()
    assert not made.is_published
    assert client.post(address).status_code == 302
    made.refresh_from_db()
    assert made.is_published
