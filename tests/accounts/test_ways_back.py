"""Signing in or up redirects to the page that the user came from."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.urls import reverse

from gym.accounts.models import User
from tests.factories import make_revision

LOGIN, SIGN_UP = "/accounts/login/", "/accounts/sign-up/"
NEW = {"username": "erin", "email": "", "password1": "correct horse 7", "password2": "correct horse 7"}
ELSEWHERE = ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "http://["]


def links(client, address: str, door: str) -> list[str]:
    """Return the links on a page to the sign-in or sign-up page (`door`)."""
    page = client.get(address).content.decode()
    return [unescape(link) for link in re.findall(r'href="([^"]*)"', page) if link.startswith(door)]


def on(door: str, address: str) -> str:
    return f"{door}?next={address.replace('/', '%2F').replace('?', '%3F').replace('=', '%3D')}"


def test_every_link_to_sign_in_on_a_page_leads_back_to_it_with_its_query(client, people):
    address = "/suites/?q=agreement"
    assert set(links(client, address, LOGIN)) == {on(LOGIN, address)}
    assert set(links(client, address, SIGN_UP)) == {on(SIGN_UP, address)}
    suite = make_revision(people.alice).suite.get_absolute_url()
    assert set(links(client, suite, LOGIN)) == {on(LOGIN, suite)}
    assert links(client, "/suites/nothing-here/", LOGIN) == [on(LOGIN, "/suites/nothing-here/")] * 2


def test_the_front_page_needs_no_way_back(client, db):
    assert set(links(client, "/", LOGIN)) == {LOGIN}


def test_from_sign_in_to_sign_up_and_to_a_lost_password_the_way_back_is_kept(client, db):
    address = reverse("suite-new")
    assert set(links(client, on(LOGIN, address), SIGN_UP)) == {on(SIGN_UP, address)}
    assert set(links(client, on(SIGN_UP, address), LOGIN)) == {on(LOGIN, address)}
    reset = reverse("password-reset")
    assert set(links(client, on(LOGIN, address), reset)) == {on(reset, address)}
    sent = client.post(reset, {"email": "nobody@example.org", "next": address}).url
    assert set(links(client, sent, LOGIN)) == {on(LOGIN, address)}


def test_the_mail_for_a_new_password_keeps_the_way_back(client, people, mailoutbox):
    address = reverse("suite-new")
    for onwards in (address, "https://evil.example/"):
        client.post(reverse("password-reset"), {"email": "alice@example.org", "next": onwards})
    mail, other = (re.search(r"http://testserver(/\S+)", mail.body)[1] for mail in mailoutbox)
    assert "evil" not in other
    assert "next" not in other
    form = client.get(mail).url
    assert form.endswith(on("", address))
    new = {"new_password1": "correct horse 7", "new_password2": "correct horse 7"}
    assert client.post(form, new).url == on(LOGIN, address)
    used_up = client.get(mail, follow=True).content.decode()
    assert f'href="{on(reverse("password-reset"), address)}"' in used_up


def test_a_new_account_goes_on_to_where_it_was_going(client, db):
    address = reverse("suite-new")
    page = client.get(on(SIGN_UP, address)).content.decode()
    assert f'<input type="hidden" name="next" value="{address}">' in page
    assert client.post(SIGN_UP, NEW | {"next": address}).url == address


def test_a_mistake_in_the_form_does_not_lose_the_way_back(client, db):
    page = client.post(SIGN_UP, NEW | {"password2": "other", "next": "/runs/"}).content.decode()
    assert '<input type="hidden" name="next" value="/runs/">' in page


def test_without_a_place_to_go_a_new_account_comes_home(client, db):
    assert client.post(SIGN_UP, NEW).url == "/"


@pytest.mark.parametrize("next_", [*ELSEWHERE, LOGIN, SIGN_UP, f"{LOGIN}?next={LOGIN}", "/accounts/logout/"])
def test_nobody_is_led_off_the_site_or_round_in_a_circle(client, people, next_):
    assert client.post(SIGN_UP, NEW | {"next": next_}).url == "/"
    assert User.objects.filter(username="erin").exists()
    for door in (LOGIN, SIGN_UP):  # already signed in
        assert client.get(door, {"next": next_}).url == "/"
    client.post("/accounts/logout/")
    assert client.post(LOGIN, {"username": "alice", "password": "alice", "next": next_}).url == "/"
    client.post("/accounts/logout/")
    assert client.get(LOGIN, {"next": next_}).status_code == 200
    assert client.get(SIGN_UP, {"next": next_}).status_code == 200


def test_a_form_refused_for_want_of_signing_in_comes_back_to_a_page_that_can_be_read(client, people):
    """A link cannot repeat a POST, so the sign-in link does not name the address of a POST as `next`."""
    page = client.post("/nothing-here/").content.decode()
    assert f'href="{LOGIN}"' in page
