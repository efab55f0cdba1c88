"""Ownership changes when the new owner accepts, and not before."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from gym.agents.services import change_server
from gym.agents.services import save_suite as save_tests
from gym.conflicts import Conflict
from gym.lmchallenge.services import edit_corpus
from gym.propara.services import edit_answer_set
from gym.secrets import sealed
from gym.sharing import invitations, services
from gym.sharing.models import Invitation
from gym.sharing.selectors import invitations_of
from models_registry.services import edit_card as edit_model_card
from suites.services import edit_card as edit_suite_card
from tests.agents.site import GOOD, make_server
from tests.agents.site import make_suite as make_tests
from tests.factories import make_suite
from tests.sharing.worlds import API, MAKERS, TWO_KINDS, asked


def shared(people, prefix="suite"):
    thing = MAKERS[prefix](people.alice)
    thing.collaborations.create(user=people.bob, role="edit")
    return thing


def offered(people, thing):
    place = thing.collaborations.get(user=people.bob)
    return invitations.offer_ownership(thing, place, actor=people.alice)


@TWO_KINDS
def test_it_stays_the_owners_until_the_editor_accepts(client, people, prefix):
    thing = shared(people, prefix)
    place = thing.collaborations.get()
    client.force_login(people.alice)
    role = reverse(f"{prefix}-collaborator-role", args=[thing.slug, place.pk])
    client.post(role, {"role": "owner"})
    thing.refresh_from_db()
    assert thing.owner == people.alice
    assert thing.collaborations.get() == place
    [offer] = invitations_of(people.bob)
    client.force_login(people.bob)
    client.post(reverse("invitation-accept", args=[offer.pk]))
    thing.refresh_from_db()
    assert thing.owner == people.bob
    assert [(row.user, row.role) for row in thing.collaborations.all()] == [(people.alice, "edit")]


@TWO_KINDS
def test_the_api_offers_it_and_takes_the_offer_back(client, people, prefix):
    thing = shared(people, prefix)
    address = reverse(f"{API.get(prefix, f'api-{prefix}')}-person", args=[thing.slug, "bob"])
    client.force_login(people.alice)
    sent = client.patch(address, {"role": "owner"}, content_type="application/json")
    assert sent.json() == {"username": "bob", "role": "owner", "accepted": False}
    assert [row.role for row in invitations_of(people.bob)] == ["owner"]
    back = client.patch(address, {"role": "edit"}, content_type="application/json")
    assert back.json() == {"username": "bob", "role": "edit", "accepted": True}
    assert not invitations_of(people.bob)


def test_secrets_are_forgotten_at_that_moment_and_not_before(people):
    suite = make_tests(people.alice, "manners", {"hello": GOOD}, visibility="private")
    suite.variables = sealed({}, {"API_KEY": "s3cret"})
    suite.save()
    server = make_server(people.alice, "keyed", visibility="private")
    server.secrets = sealed({}, {"Authorization": "Bearer x"})
    server.save()
    for thing in (suite, server.model):
        thing.collaborations.create(user=people.bob, role="edit")
        offer = offered(people, thing)
        suite.refresh_from_db()
        server.refresh_from_db()
        assert server.secrets
        assert bool(suite.variables) == (thing == suite)
        invitations.accept(offer, actor=people.bob)
    suite.refresh_from_db()
    server.refresh_from_db()
    assert (suite.variables, server.secrets) == ({}, {})


def test_a_viewer_cannot_become_the_owner(people):
    suite = shared(people)
    services.set_role(suite, suite.collaborations.get(), "view", actor=people.alice)
    with pytest.raises(ValidationError, match="Only an editor"):
        offered(people, suite)


def leave(people, suite):
    services.remove_collaborator(suite, suite.collaborations.get(), actor=people.bob)


def become_viewer(people, suite):
    services.set_role(suite, suite.collaborations.get(), "view", actor=people.alice)


def end_in_the_admin(people, suite):
    suite.collaborations.all().delete()


def lose_the_suite(people, suite):
    type(suite).objects.update(owner=people.charlie)


def withdraw(people, suite):
    invitations.withdraw(suite, suite.invitations.get(), actor=people.alice)


@pytest.mark.parametrize("end", [leave, become_viewer, end_in_the_admin, lose_the_suite, withdraw])
def test_an_offer_goes_with_what_it_rests_on(people, end):
    suite = shared(people)
    offer = offered(people, suite)
    end(people, suite)
    with pytest.raises(Conflict):
        invitations.accept(offer, actor=people.bob)
    suite.refresh_from_db()
    assert suite.owner != people.bob


def test_a_new_owner_ends_the_open_invitations_of_the_old_one(people):
    suite = shared(people)
    for name in ("charlie", "dora"):
        asked(people, suite, name=name)
    invitations.accept(offered(people, suite), actor=people.bob)
    assert not Invitation.objects.exists()


def test_an_owner_who_deletes_the_account_takes_the_offers_along(people):
    from gym.pages.account_deletion import delete_account, former_member

    suite = shared(people)
    offered(people, suite)
    asked(people, make_suite(people.alice, name="other", visibility="private"), name="charlie")
    delete_account(people.alice)
    suite.refresh_from_db()
    assert suite.owner == former_member()
    assert not Invitation.objects.exists()


def test_who_is_only_invited_does_not_keep_a_thing(people):
    from gym.pages.account_deletion import delete_account

    suite = make_suite(people.alice, visibility="private")
    asked(people, suite)
    delete_account(people.alice)
    assert not type(suite).objects.exists()


def test_an_owner_who_is_also_a_collaborator_can_be_followed(people):
    suite = make_suite(people.alice, collaborator=people.bob)
    suite.collaborations.create(user=people.alice)
    offer = invitations.offer_ownership(suite, suite.collaborations.get(user=people.bob), actor=people.alice)
    invitations.accept(offer, actor=people.bob)
    suite.refresh_from_db()
    assert suite.owner == people.bob
    assert [row.user for row in suite.collaborations.all()] == [people.alice]


def test_staff_finds_an_heir_for_what_a_closed_account_left(people):
    suite = make_suite(people.alice, collaborator=people.bob)
    people.alice.is_active = False
    people.alice.save()
    offer = invitations.offer_ownership(suite, suite.collaborations.get(), actor=people.staff)
    invitations.accept(offer, actor=people.bob)
    suite.refresh_from_db()
    assert suite.owner == people.bob
    assert not suite.collaborations.exists()


def edit_suite(suite, alice):
    edit_suite_card(suite, actor=alice, title="Late")


def edit_tests(suite, alice):
    suite.title = "Late"
    save_tests(suite, actor=alice)


def edit_model(model, alice):
    edit_model_card(model, actor=alice, name="Late")


LATE = {
    "suite": edit_suite,
    "agent-suite": edit_tests,
    "model": edit_model,
    "propara": lambda thing, alice: edit_answer_set(thing, actor=alice, title="Late"),
    "lmc-corpus": lambda thing, alice: edit_corpus(thing, actor=alice, title="Late"),
}


@pytest.mark.parametrize("prefix", list(LATE))
def test_a_card_that_was_read_before_leaves_the_new_owner_in_place(people, prefix):
    thing = shared(people, prefix)
    offer = offered(people, thing)
    seen = type(thing).objects.get(pk=thing.pk)
    invitations.accept(offer, actor=people.bob)
    LATE[prefix](seen, people.alice)
    thing.refresh_from_db()
    assert thing.owner == people.bob
    assert "Late" in (getattr(thing, "title", ""), getattr(thing, "name", ""))


def test_secrets_that_come_after_the_hand_over_are_refused(people):
    suite = make_tests(people.alice, "manners", {"hello": GOOD}, visibility="private")
    server = make_server(people.alice, "keyed", visibility="private")
    for thing in (suite, server.model):
        thing.collaborations.create(user=people.bob, role="edit")
    seen_suite = type(suite).objects.get(pk=suite.pk)
    seen_server = type(server).objects.select_related("model").get(pk=server.pk)
    for thing in (suite, server.model):
        invitations.accept(offered(people, thing), actor=people.bob)
    with pytest.raises(Conflict):
        save_tests(seen_suite, actor=people.alice, variables={"API_KEY": "s3cret"})
    with pytest.raises(Conflict):
        change_server(
            seen_server,
            actor=people.alice,
            url=server.url,
            chat_model="",
            secret_headers={"Authorization": "x"},
        )
    suite.refresh_from_db()
    server.refresh_from_db()
    assert (suite.variables, server.secrets) == ({}, {})
