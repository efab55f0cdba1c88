"""The invited user declines, or the owner withdraws."""

from __future__ import annotations

import pytest
from django.core.exceptions import PermissionDenied
from django.urls import reverse

from gym.sharing import invitations
from gym.sharing.selectors import invitations_of, invited_to
from tests.factories import make_suite
from tests.sharing.worlds import MAKERS, TWO_KINDS, asked, people_page


@pytest.mark.parametrize("through", ["page", "api", "place"])
def test_a_declined_invitation_is_gone_on_both_sides(client, people, through):
    suite = make_suite(people.alice)
    offer = asked(people, suite)
    client.force_login(people.bob)
    if through == "page":
        address = reverse("invitation-decline", args=[offer.pk])
        assert client.post(address).url == reverse("home")
        assert client.post(address).status_code == 404
    elif through == "place":
        assert client.delete(reverse("api-person", args=[suite.slug, "bob"])).status_code == 204
    else:
        assert client.delete(reverse("api-invitation", args=[offer.pk])).status_code == 204
    assert not invitations_of(people.bob)
    assert not invited_to(suite).exists()
    assert not suite.collaborations.exists()


def test_nobody_declines_for_another(client, people):
    offer = asked(people, make_suite(people.alice))
    for person in (people.alice, people.charlie, people.staff):
        client.force_login(person)
        assert client.post(reverse("invitation-decline", args=[offer.pk])).status_code == 404
        assert client.delete(reverse("api-invitation", args=[offer.pk])).status_code == 404
    assert invitations_of(people.bob)


@TWO_KINDS
def test_the_owner_withdraws_on_the_people_page_and_may_ask_again(client, people, prefix):
    thing = MAKERS[prefix](people.alice)
    offer = asked(people, thing)
    client.force_login(people.alice)
    address = reverse(f"{prefix}-invitation-withdraw", args=[thing.slug, offer.pk])
    assert address in client.get(people_page(prefix, thing)).content.decode()
    assert client.post(address).status_code == 302
    assert not invitations_of(people.bob)
    asked(people, thing)


def test_only_the_owner_withdraws(people):
    suite = make_suite(people.alice, collaborator=people.dora)
    offer = asked(people, suite)
    for person in (people.bob, people.dora, people.charlie):
        with pytest.raises(PermissionDenied):
            invitations.withdraw(suite, offer, actor=person)
    invitations.withdraw(suite, offer, actor=people.staff)
