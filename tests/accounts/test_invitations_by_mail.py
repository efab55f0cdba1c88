"""Invitations by mail to create an account."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied, ValidationError
from django.utils import timezone

from gym.accounts import invitations
from gym.accounts.confirmed import has_confirmed_address
from gym.accounts.models import AccountInvitation, User
from gym.accounts.redaction import redacted
from gym.conflicts import Conflict
from gym.pages.account_deletion import delete_account

PAGE = "/staff/invitations/"
NEW = {"username": "newcomer", "password1": "a-good-long-one", "password2": "a-good-long-one"}


def invite(client, people, addresses="new@example.org", **more):
    client.force_login(people.staff)
    response = client.post(PAGE, {"addresses": addresses, **more})
    client.logout()
    return response


def links(mailoutbox) -> list[str]:
    return [re.search(r"http://testserver(/\S+)", mail.body)[1] for mail in mailoutbox]


def test_an_invited_person_creates_an_account_with_a_confirmed_address(client, people, settings, mailoutbox):
    settings.GYM_SIGN_UP = False
    assert invite(client, people, "new@example.org,\nother@example.org").url == PAGE
    assert [mail.to for mail in mailoutbox] == [["new@example.org"], ["other@example.org"]]
    link = links(mailoutbox)[0]
    assert "new@example.org" in client.get(link).content.decode()
    assert client.post(link, NEW).url == "/"
    newcomer = User.objects.get(username="newcomer")
    assert (newcomer.email, newcomer.is_staff) == ("new@example.org", False)
    assert has_confirmed_address(newcomer)
    client.logout()
    assert client.get(link).status_code == 404  # it works once
    assert client.post(link, NEW | {"username": "second"}).status_code == 404


def test_rights_come_from_superusers_only(client, people, mailoutbox):
    group = Group.objects.create(name="editors")
    invite(client, people, is_staff="on", groups=[group.pk])
    client.post(links(mailoutbox)[0], NEW)
    newcomer = User.objects.get(username="newcomer")
    assert newcomer.is_staff
    assert list(newcomer.groups.all()) == [group]
    clerk = User.objects.create_user("clerk", is_staff=True)
    with pytest.raises(PermissionDenied):
        invitations.invite(["a@example.org"], actor=clerk, is_staff=True)
    with pytest.raises(PermissionDenied):
        invitations.invite(["a@example.org"], actor=people.alice)
    client.force_login(clerk)
    client.post(PAGE, {"addresses": "a@example.org", "is_staff": "on"})
    assert not AccountInvitation.objects.get(email="a@example.org").is_staff


@pytest.mark.parametrize(
    ("addresses", "problem"),
    [
        ("", "required"),
        ("nonsense", "nonsense is not an e-mail address"),
        ("ALICE@example.org", "belongs to an account already"),
    ],
)
def test_addresses_that_cannot_be_invited_are_named(client, people, addresses, problem):
    page = invite(client, people, addresses)
    assert page.status_code == 400
    assert problem in page.content.decode()
    assert not AccountInvitation.objects.exists()


def test_who_is_invited_already_is_not_invited_again(client, people, mailoutbox):
    invite(client, people)
    with pytest.raises(ValidationError, match="invited already"):
        invitations.invite(["new@example.org"], actor=people.staff)


def test_resending_replaces_the_link_and_revoking_ends_it(client, people, mailoutbox):
    invite(client, people)
    row = AccountInvitation.objects.get()
    client.force_login(people.staff)
    client.post(f"{PAGE}{row.pk}/resend/")
    client.logout()
    old, new = links(mailoutbox)
    assert client.get(old).status_code == 404
    assert client.get(new).status_code == 200
    client.force_login(people.staff)
    client.post(f"{PAGE}{row.pk}/revoke/")
    client.logout()
    assert client.get(new).status_code == 404


def test_an_expired_invitation_is_void_and_forgotten_a_month_later(client, people, mailoutbox):
    invite(client, people)
    AccountInvitation.objects.update(expires=timezone.now() - timedelta(seconds=1))
    assert client.get(links(mailoutbox)[0]).status_code == 404
    assert invitations.drop_old() == 0
    AccountInvitation.objects.update(expires=timezone.now() - timedelta(days=31))
    assert invitations.drop_old() == 1


def test_two_people_cannot_use_one_invitation(people, mailoutbox):
    [(row, _)] = invitations.invite(["new@example.org"], actor=people.staff)
    invitations.accept(row, people.bob)
    with pytest.raises(Conflict):
        invitations.accept(row, people.charlie)


def test_somebody_who_is_signed_in_does_not_use_it_up(client, people, mailoutbox):
    invite(client, people)
    client.force_login(people.alice)
    assert client.post(links(mailoutbox)[0], NEW).status_code == 409
    assert AccountInvitation.objects.get().accepted is None


def test_deleting_the_account_deletes_its_invitation(client, people, mailoutbox):
    invite(client, people)
    client.post(links(mailoutbox)[0], NEW)
    delete_account(User.objects.get(username="newcomer"))
    assert not AccountInvitation.objects.exists()


def test_links_are_shortened_in_logs():
    assert redacted("GET /accounts/invitation/lmi_abcdefgh12345678901234/") == (
        "GET /accounts/invitation/lmi_abcdefgh…/"
    )
