"""Signing in and out."""

from __future__ import annotations

import pytest
from django.urls import reverse

LOGIN = "/accounts/login/"


def sign_in(client, username="alice", password="alice", **more):
    return client.post(LOGIN, {"username": username, "password": password, **more})


def signed_in(client) -> bool:
    return "_auth_user_id" in client.session


def test_the_right_password_opens_the_front_page(client, people):
    response = sign_in(client)
    assert (response.status_code, response.url) == (302, "/")
    assert "Sign out" in client.get("/").content.decode()


@pytest.mark.parametrize(
    ("username", "password"), [("alice", "wrong"), ("nobody", "alice"), ("alice", ""), ("", "")]
)
def test_a_wrong_name_and_a_wrong_password_look_the_same(client, people, username, password):
    response = sign_in(client, username, password)
    assert response.status_code == 200
    assert not signed_in(client)
    if username and password:
        assert "Please enter a correct username and password" in response.content.decode()


def test_a_disabled_account_stays_out(client, people):
    people.alice.is_active = False
    people.alice.save()
    sign_in(client)
    assert not signed_in(client)


def test_signing_out_takes_a_post(client, people):
    client.force_login(people.alice)
    assert client.get("/accounts/logout/").status_code == 405
    assert signed_in(client)
    response = client.post("/accounts/logout/")
    assert (response.status_code, response.url) == (302, "/")
    assert not signed_in(client)


def test_a_page_for_members_comes_back_after_signing_in(client, people):
    address = reverse("suite-import")
    sent = client.get(address)
    assert sent.url == f"{LOGIN}?next={address}"
    page = client.get(sent.url).content.decode()
    assert f'<input type="hidden" name="next" value="{address}">' in page
    assert sign_in(client, next=address).url == address


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example/",
        "///evil.example",
        "http:evil.example",
        "javascript:alert(1)",
        "/\\evil.example",
        "\\\\evil.example",
        "ftp://testserver/",
    ],
)
def test_next_stays_on_the_site(client, people, elsewhere):
    assert sign_in(client, next=elsewhere).url == "/"
    client.post("/accounts/logout/")
    assert client.post(f"{LOGIN}?next={elsewhere}", {"username": "alice", "password": "alice"}).url == "/"
    assert client.post("/accounts/logout/", {"next": elsewhere}).url in ("/", "/accounts/logout/")


def test_whoever_is_signed_in_is_sent_on(client, people):
    client.force_login(people.alice)
    assert client.get(LOGIN).url == "/"
    assert client.get(f"{LOGIN}?next=https://evil.example/").url == "/"
