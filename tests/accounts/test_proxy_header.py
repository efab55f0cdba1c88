"""Signing in by a header that a proxy sets."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from allauth.socialaccount.models import SocialAccount

from gym.accounts.models import User

LOGIN, SIGN_UP = "/accounts/login/", "/accounts/services/sign-up/"
ANNA = {"HTTP_X_REMOTE_USER": "anna", "HTTP_X_GROUPS": "lab, staff", "HTTP_X_EMAIL": "anna@example.org"}


@pytest.fixture(autouse=True)
def _proxy(settings, db):
    settings.GYM_PROXY_USER_HEADER = "X-Remote-User"
    settings.GYM_PROXY_EMAIL_HEADER, settings.GYM_PROXY_GROUPS_HEADER = "X-Email", "X-Groups"
    settings.GYM_PROXY_ADDRESSES = [ip_network("127.0.0.1"), ip_network("10.0.0.0/24")]


def signed_in(client) -> str:
    key = client.session.get("_auth_user_id")
    return User.objects.get(pk=key).username if key else ""


def test_whoever_the_proxy_names_is_signed_in(client, settings):
    settings.GYM_STAFF_GROUPS = ["staff"]
    assert client.get(f"{LOGIN}?next=/suites/", **ANNA).url == SIGN_UP
    assert client.post(SIGN_UP, {"username": "anna"}, **ANNA).url == "/suites/"
    client.post("/accounts/logout/")
    assert client.get(f"{LOGIN}?next=/suites/", **ANNA).url == "/suites/"
    anna = User.objects.get()
    assert (signed_in(client), anna.email, anna.is_staff) == ("anna", "anna@example.org", True)


@pytest.mark.parametrize("peer", ["10.0.1.1", "192.0.2.1", "", "unix:"])
def test_the_header_counts_on_connections_of_the_proxy_only(client, peer):
    forwarded = {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}
    assert client.get(LOGIN, REMOTE_ADDR=peer, **ANNA, **forwarded).status_code == 200
    assert not client.session.get("socialaccount_sociallogin")


def test_an_existing_account_of_that_name_is_not_taken_over(client, people):
    alice = {"HTTP_X_REMOTE_USER": "alice"}
    assert client.get(LOGIN, **alice).url == SIGN_UP
    assert client.post(SIGN_UP, {"username": "alice"}, **alice).status_code == 400
    assert not SocialAccount.objects.exists()


def test_a_session_ends_when_the_proxy_names_somebody_else(client):
    client.get(LOGIN, **ANNA)
    client.post(SIGN_UP, {"username": "anna"}, **ANNA)
    client.get("/suites/", **ANNA)
    client.get("/suites/")
    assert signed_in(client) == "anna"
    client.get("/suites/", HTTP_X_REMOTE_USER="berta")
    assert not signed_in(client)


def test_the_form_stays_for_accounts_with_a_password(client, people):
    assert client.get(f"{LOGIN}?password=1", **ANNA).status_code == 200
    client.post(LOGIN, {"username": "alice", "password": "alice"}, **ANNA)
    assert signed_in(client) == "alice"
    client.get("/suites/", **ANNA)
    assert signed_in(client) == "alice"


def test_without_addresses_nobody_is_trusted(client, settings):
    settings.GYM_PROXY_ADDRESSES = []
    assert client.get(LOGIN, **ANNA).status_code == 200
