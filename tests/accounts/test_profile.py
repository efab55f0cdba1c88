"""The profile, and changing name, e-mail address and password."""

from __future__ import annotations

import pytest

from gym.accounts.models import User
from gym.runs.work import services
from tests.factories import make_model, make_revision

EDIT, PASSWORD = "/accounts/profile/edit/", "/accounts/password/"
CHANGE = {"old_password": "alice", "new_password1": "correct horse 7", "new_password2": "correct horse 7"}


@pytest.fixture
def alice(client, people) -> User:
    client.force_login(people.alice)
    return people.alice


def test_the_profile_shows_what_of_the_quota_is_used(client, people, alice):
    revision, model = make_revision(alice), make_model(alice)
    services.queue_run(revision, model, actor=alice)
    assert "6</strong> of 500" in client.get("/accounts/profile/").content.decode()  # sentences today


def test_a_name_is_changed_without_the_password(client, alice):
    given = {"first_name": "Alice", "last_name": "Example", "email": "alice@example.org"}
    assert client.post(EDIT, given).url == "/accounts/profile/"
    alice.refresh_from_db()
    assert alice.display_name == "Alice Example (alice)"


def test_the_e_mail_address_takes_the_password_and_the_old_address_is_told(client, alice, mailoutbox):
    given = {"email": "new@example.org"}
    for password in ("", "wrong"):
        assert client.post(EDIT, given | {"password": password}).status_code == 400
        alice.refresh_from_db()
        assert alice.email == "alice@example.org"
    client.post(EDIT, given | {"password": "alice"})
    alice.refresh_from_db()
    assert alice.email == "new@example.org"
    assert [mail.to for mail in mailoutbox] == [["alice@example.org"]]


def test_nothing_else_is_changed_by_the_form(client, alice):
    client.post(EDIT, {"email": "alice@example.org", "username": "root", "is_staff": "on"})
    alice.refresh_from_db()
    assert (alice.username, alice.is_staff) == ("alice", False)


def test_a_changed_password_ends_other_sessions_and_not_this_one(client, alice):
    from django.test import Client

    other = Client()
    other.force_login(alice)
    assert client.post(PASSWORD, CHANGE).url == "/accounts/profile/"
    assert client.get("/accounts/profile/").status_code == 200
    assert other.get("/accounts/profile/").status_code == 302
    alice.refresh_from_db()
    assert alice.check_password("correct horse 7")


def test_the_old_password_is_needed(client, alice):
    assert client.post(PASSWORD, CHANGE | {"old_password": "wrong"}).status_code == 400
    alice.refresh_from_db()
    assert alice.check_password("alice")


def test_somebody_at_an_open_screen_cannot_guess_on(client, alice, settings):
    settings.GYM_SIGN_IN_TRIES_PER_ACCOUNT = 3
    wrong = CHANGE | {"old_password": "wrong"}
    assert [client.post(PASSWORD, wrong).status_code for _ in range(4)] == [400, 400, 400, 429]
    assert client.post("/accounts/delete/", {"password": "alice"}).status_code == 429
    assert client.post(PASSWORD, CHANGE).status_code == 429
