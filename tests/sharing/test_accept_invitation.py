"""Invited users see an invitation on their home page, and accept it there or through the API."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.conflicts import Conflict
from gym.sharing import invitations
from gym.sharing.selectors import invitations_of, shares_of
from tests.factories import make_suite
from tests.sharing.worlds import EVERY_KIND, MAKERS, TWO_KINDS, asked, status_of


def accept_page(offer) -> str:
    return reverse("invitation-accept", args=[offer.pk])


@TWO_KINDS
def test_home_tells_of_it_and_does_not_open_the_thing(client, people, prefix):
    thing = MAKERS[prefix](people.alice)
    offer = asked(people, thing)
    client.force_login(people.bob)
    page = client.get("/").content.decode()
    assert str(thing) in page
    assert accept_page(offer) in page
    assert thing.get_absolute_url() not in page
    client.force_login(people.charlie)
    assert accept_page(offer) not in client.get("/").content.decode()


@TWO_KINDS
@pytest.mark.parametrize("role", ["edit", "view"])
def test_who_accepts_on_the_page_has_the_role(client, people, prefix, role):
    thing = MAKERS[prefix](people.alice)
    offer = asked(people, thing, role)
    client.force_login(people.bob)
    assert client.post(accept_page(offer)).url == thing.get_absolute_url()
    assert [(row.user, row.role) for row in thing.collaborations.all()] == [(people.bob, role)]
    assert status_of(client, people.bob, thing.get_absolute_url()) == 200
    assert not invitations_of(people.bob)


@EVERY_KIND
def test_the_api_lists_it_and_accepts_it(client, people, prefix):
    thing = MAKERS[prefix](people.alice)
    offer = asked(people, thing, "view")
    client.force_login(people.bob)
    [row] = client.get(reverse("api-invitations")).json()["results"]
    assert row.pop("created")
    kind = str(thing._meta.verbose_name)
    assert row == {"id": offer.pk, "kind": kind, "title": str(thing), "role": "view", "invited_by": "alice"}
    found = client.post(reverse("api-invitation-accept", args=[offer.pk]))
    assert found.json() == {"kind": kind, "slug": thing.slug, "title": str(thing), "role": "view"}
    assert thing.collaborations.get().user == people.bob
    assert client.get(reverse("api-invitations")).json()["results"] == []


def test_all_invitations_of_an_account_are_accepted_at_once_but_no_offer_of_ownership(client, people):
    offered, *others = (make_suite(people.alice, name=name) for name in ("mine", "one", "two"))
    editor = offered.collaborations.create(user=people.bob, role="edit")
    invitations.offer_ownership(offered, editor, actor=people.alice)
    for suite in others:
        asked(people, suite, "view")
    invitations.invite(make_suite(people.dora, name="doras"), "bob", "view", actor=people.dora)
    client.force_login(people.bob)
    page = client.get("/")
    assert [(user.username, n) for user, n in page.context["own"].inviters] == [("alice", 2)]
    client.post(reverse("invitations-accept", args=[people.alice.pk]))
    assert [suite.collaborations.get().user for suite in others] == [people.bob, people.bob]
    assert {(row.inviter.username, row.role) for row in invitations_of(people.bob)} == {
        ("alice", "owner"),
        ("dora", "view"),
    }


def test_nobody_accepts_for_another(client, people):
    offer = asked(people, make_suite(people.alice))
    for person in (people.alice, people.charlie, people.staff):
        client.force_login(person)
        assert client.post(accept_page(offer)).status_code == 404
        assert client.post(reverse("api-invitation-accept", args=[offer.pk])).status_code == 404
        with pytest.raises(Conflict):
            invitations.accept(offer, actor=person)


def lose_the_suite(people, suite):
    type(suite).objects.update(owner=people.charlie)


def close_the_account(people, suite):
    people.alice.is_active = False
    people.alice.save()


def withdraw(people, suite):
    invitations.withdraw(suite, suite.invitations.get(), actor=people.alice)


def decline(people, suite):
    invitations.decline(suite.invitations.get(), actor=people.bob)


@pytest.mark.parametrize("end", [lose_the_suite, close_the_account, withdraw, decline])
def test_an_invitation_that_no_longer_stands_cannot_be_accepted(client, people, end):
    suite = make_suite(people.alice, visibility="private")
    offer = asked(people, suite)
    end(people, suite)
    assert not invitations_of(people.bob)
    with pytest.raises(Conflict):
        invitations.accept(offer, actor=people.bob)
    client.force_login(people.bob)
    assert client.post(accept_page(offer)).status_code in {404, 409}
    assert client.post(reverse("api-invitation-accept", args=[offer.pk])).status_code in {404, 409}
    assert not suite.collaborations.exists()


def test_staffs_invitation_ends_with_their_office(people):
    suite = make_suite(people.alice, visibility="private")
    offer = invitations.invite(suite, "bob", "edit", actor=people.staff)
    people.staff.is_staff = False
    people.staff.save()
    with pytest.raises(Conflict):
        invitations.accept(offer, actor=people.bob)


def test_whom_staff_let_in_meanwhile_keeps_that_role(people):
    suite = make_suite(people.alice)
    offer = asked(people, suite, "view")
    suite.collaborations.create(user=people.bob, role="edit")
    invitations.accept(offer, actor=people.bob)
    assert suite.collaborations.get().role == "edit"


@EVERY_KIND
def test_what_was_accepted_stands_among_what_one_works_on(people, prefix):
    thing = MAKERS[prefix](people.alice)
    thing.collaborations.create(user=people.bob, role="edit")
    assert [share.thing for share in shares_of(people.bob)] == [thing]
