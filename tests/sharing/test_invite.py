"""The owner invites a user, who has no permissions until they accept."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.urls import reverse
from django.utils import timezone

from gym.collections import services as collections
from gym.jobs.testing import run_pending
from gym.sharing import invitations, services
from gym.sharing.models import Invitation
from models_registry.selectors import runnable_by
from suites.permissions import can_edit, can_view
from suites.selectors import listed_for, revisions_for, visible_to
from tests.factories import make_model, make_revision, make_suite
from tests.sharing.worlds import EVERY_KIND, MAKERS, asked, people_api, people_page, status_of


@EVERY_KIND
def test_the_owner_invites_on_the_people_page_and_nothing_opens_yet(client, people, prefix):
    thing = MAKERS[prefix](people.alice)
    client.force_login(people.alice)
    page = people_page(prefix, thing)
    assert client.post(page, {"username": " bob ", "role": "edit"}).status_code == 302
    assert "Invited, not yet accepted" in client.get(page).content.decode()
    assert not thing.collaborations.exists()
    for address in (
        thing.get_absolute_url(),
        page,
        people_api(prefix, thing),
        reverse(f"{prefix}-edit", args=[thing.slug]),
    ):
        assert status_of(client, people.bob, address) == 404


@EVERY_KIND
def test_the_api_invites_lists_changes_and_withdraws(client, people, prefix):
    thing = MAKERS[prefix](people.alice)
    address = people_api(prefix, thing)
    client.force_login(people.alice)
    sent = client.post(address, {"username": "bob", "role": "view"}, content_type="application/json")
    assert sent.status_code == 201
    assert sent.json() == {"username": "bob", "role": "view", "accepted": False}
    assert client.get(address).json()["results"] == [sent.json()]
    changed = client.patch(sent["Location"], {"role": "edit"}, content_type="application/json")
    assert changed.json() == {"username": "bob", "role": "edit", "accepted": False}
    wrong = client.patch(sent["Location"], {"role": "owner"}, content_type="application/json")
    assert wrong.status_code == 400
    assert client.delete(sent["Location"]).status_code == 204
    assert client.get(address).json()["results"] == []


def test_work_and_lists_refuse_who_is_only_invited(people):
    suite = make_suite(people.alice, visibility="private")
    model = make_model(people.alice, visibility="private")
    for thing in (suite, model):
        asked(people, thing)
    assert not can_view(people.bob, suite)
    assert not can_edit(people.bob, suite)
    for rows in (
        visible_to(people.bob),
        listed_for(people.bob),
        revisions_for(people.bob),
        runnable_by(people.bob),
    ):
        assert not rows.exists()


def test_a_worker_refuses_who_is_only_invited(people):
    """bob was permitted to run it, lost the permission and is invited again: his queued run is not
    computed."""
    from gym.runs.work import services as runs

    revision = make_revision(people.alice, visibility="private")
    place = revision.suite.collaborations.create(user=people.bob, role="view")
    job = runs.queue_run(revision, make_model(people.alice), actor=people.bob).job
    services.remove_collaborator(revision.suite, place, actor=people.alice)
    asked(people, revision.suite)
    run_pending(job.queue)
    job.refresh_from_db()
    assert (job.state, job.error.startswith("Refused")) == ("failed", True)


def test_collaborators_do_not_see_who_is_invited(client, people):
    suite = make_suite(people.alice, visibility="private", collaborator=people.dora)
    asked(people, suite)
    client.force_login(people.dora)
    assert "bob" not in client.get(people_page("suite", suite)).content.decode()
    assert [row["username"] for row in client.get(people_api("suite", suite)).json()["results"]] == ["dora"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"username": "nobody-at-all", "role": "edit"}, "no account called nobody-at-all"),
        ({"username": "alice", "role": "edit"}, "owns this suite"),
        ({"username": "dora", "role": "view"}, "already a collaborator"),
        ({"username": "bob", "role": "view"}, "already invited"),
        ({"username": "", "role": "edit"}, "required"),
        ({"username": "charlie", "role": "owner"}, "valid choice"),
    ],
)
def test_who_cannot_be_invited_is_said(client, people, given, says):
    suite = make_suite(people.alice, visibility="private", collaborator=people.dora)
    asked(people, suite)
    client.force_login(people.alice)
    response = client.post(people_page("suite", suite), given)
    assert response.status_code == 400
    assert says in response.content.decode()
    assert Invitation.objects.count() == 1


def test_a_disabled_account_is_nobody(people):
    people.charlie.is_active = False
    people.charlie.save()
    with pytest.raises(ValidationError, match="no account"):
        asked(people, make_suite(people.alice), name="charlie")


def test_only_owner_and_staff_invite(people):
    suite = make_suite(people.alice, collaborator=people.bob)
    for actor in (people.bob, people.charlie, people.nobody):
        with pytest.raises(PermissionDenied):
            invitations.invite(suite, "dora", "edit", actor=actor)
    invitations.invite(suite, "dora", "edit", actor=people.staff)


def test_nobody_has_more_open_invitations_than_the_limit(people, monkeypatch):
    monkeypatch.setattr(invitations, "MAX_OPEN", 1)
    suite = make_suite(people.alice)
    first = asked(people, suite)
    with pytest.raises(ValidationError, match="still open"):
        asked(people, suite, name="charlie")
    invitations.withdraw(suite, first, actor=people.alice)
    asked(people, suite, name="charlie")


def test_many_invitations_of_one_account_are_one_person_and_one_notice(people, monkeypatch):
    monkeypatch.setattr(invitations, "MAX_OPEN", 1)
    first, second = (asked(people, make_suite(people.alice, name=name)) for name in ("one", "two"))
    assert [row.text for row in people.bob.notices.all()] == [
        "alice invites you to the suite two and 1 more."
    ]
    invitations.withdraw(second.thing, second, actor=people.alice)
    assert people.bob.notices.count() == 1
    invitations.withdraw(first.thing, first, actor=people.alice)
    assert people.bob.notices.count() == 0


def test_invitations_count_among_the_people_of_a_thing(people, monkeypatch):
    monkeypatch.setattr(invitations, "MAX_COLLABORATORS", 2)
    suite = make_suite(people.alice, collaborator=people.dora)
    asked(people, suite)
    with pytest.raises(ValidationError, match="is reached"):
        asked(people, suite, name="charlie")


def test_who_declined_is_asked_again_after_a_day(people):
    suite = make_suite(people.alice)
    invitations.decline(asked(people, suite), actor=people.bob)
    with pytest.raises(ValidationError, match="less than a day ago"):
        asked(people, suite)
    Invitation.objects.update(declined=timezone.now() - timedelta(hours=25))
    assert asked(people, suite).declined is None


@EVERY_KIND
def test_an_invitation_goes_with_its_thing(people, prefix):
    thing = MAKERS[prefix](people.alice)
    asked(people, thing)
    if prefix == "collection":
        collections.delete_collection(thing, actor=people.alice)
    else:
        thing.delete()
    assert not Invitation.objects.exists()
