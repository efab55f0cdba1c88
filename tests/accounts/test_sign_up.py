"""Creating an account."""

from __future__ import annotations

import pytest
from django.db import connection

from gym.accounts.models import User

SIGN_UP = "/accounts/sign-up/"
GOOD = {"username": "erin", "email": "", "password1": "correct horse 7", "password2": "correct horse 7"}


def sign_up(client, **changes):
    return client.post(SIGN_UP, GOOD | changes)


def test_whoever_signs_up_is_signed_in_and_comes_home(client, db):
    response = sign_up(client)
    assert (response.status_code, response.url) == (302, "/")
    erin = User.objects.get(username="erin")
    assert client.session["_auth_user_id"] == str(erin.pk)
    assert (erin.is_staff, erin.is_superuser) == (False, False)
    assert "Welcome, erin" in client.get(response.url).content.decode()


def test_nobody_becomes_staff_by_saying_so(client, db):
    sign_up(client, is_staff="on", is_superuser="on")
    assert not User.objects.get(username="erin").is_staff


@pytest.mark.parametrize(
    "changes",
    [
        {"username": "alice"},
        {"username": "ALICE"},
        {"username": "demo"},
        {"username": "Demo"},
        {"username": "Admin"},
        {"username": "support"},
        {"username": "moderator"},
        {"username": "gym"},
        {"username": "bob"},
        {"username": "аlice"},  # the first letter is Cyrillic
        {"username": "(former member)"},
        {"username": ""},
        {"username": "x" * 151},
        {"email": "nonsense"},
        {"password2": "another one 8"},
        {"password1": "short1", "password2": "short1"},
        {"password1": "password", "password2": "password"},
        {"password1": "erin1234", "password2": "erin1234", "username": "erin123"},
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(client, people, changes):
    before = User.objects.count()
    response = sign_up(client, **changes)
    assert response.status_code == 400
    assert "invalid-feedback" in response.content.decode()
    assert User.objects.count() == before


def test_an_e_mail_address_that_somebody_has_is_not_given_away(client, people):
    assert sign_up(client, email="alice@example.org").status_code == 302


def test_a_site_may_close_sign_up(client, people, settings):
    settings.GYM_SIGN_UP = False
    assert client.get(SIGN_UP).status_code == sign_up(client).status_code == 403
    assert "Sign-up is closed" in client.get(SIGN_UP).content.decode()
    assert not User.objects.filter(username="erin").exists()
    for page in ("/", "/accounts/login/"):
        assert SIGN_UP not in client.get(page).content.decode()


def test_an_open_site_offers_it(client, db):
    assert SIGN_UP in client.get("/").content.decode()


def test_one_address_makes_only_so_many_accounts_an_hour(client, db, settings):
    settings.GYM_SIGN_UPS_PER_ADDRESS = 2
    for number in range(2):
        assert sign_up(client, username=f"erin{number}").status_code == 302
        client.logout()
    refused = sign_up(client, username="erin3")
    assert refused.status_code == 429
    assert 1700 < int(refused["Retry-After"]) <= 1800
    assert "2 new accounts per internet address and hour" in refused.content.decode()
    assert "GYM_SIGN_UPS_PER_ADDRESS" in refused.content.decode()
    assert User.objects.count() == 2


def test_a_password_is_hashed_outside_of_the_transaction(client, db, monkeypatch):
    """SQLite lets one connection write: a class that signs up at once would wait for all hashes in turn."""
    depths = []
    monkeypatch.setattr(User, "set_password", lambda *_: depths.append(len(connection.savepoint_ids)))
    sign_up(client)
    assert depths == [0]


def test_who_loses_the_race_for_a_name_is_told(client, db, monkeypatch):
    class SomebodyElseIsFaster:
        def take(self, address: str) -> None:
            User.objects.create_user("erin")

    monkeypatch.setattr("gym.accounts.views.throttle.sign_up_by_address", SomebodyElseIsFaster)
    response = sign_up(client)
    assert response.status_code == 400
    assert "This name is taken." in response.content.decode()
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize("username", ["erin", "жанна", "ελένη", "erin.o-neill+7"])
def test_a_name_in_one_script_is_taken(client, db, username):
    assert sign_up(client, username=username).status_code == 302


def test_a_chosen_name_stands_beside_the_user_name(people):
    people.bob.first_name = "Alice"
    assert people.bob.display_name == "Alice (bob)"
    assert people.bob.author_name == "Alice"
    assert people.alice.display_name == "alice"
