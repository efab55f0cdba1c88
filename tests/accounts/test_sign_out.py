"""Signing out or deleting the account makes the browser delete that user's local drafts."""

from __future__ import annotations

from django.urls import reverse

from gym.accounts.views import SIGNED_OUT


def test_the_next_page_is_told_who_was_signed_out(client, people):
    client.force_login(people.alice)
    answer = client.post(reverse("logout"))
    told = answer.cookies[SIGNED_OUT]
    assert (told.value, told["httponly"], told["samesite"]) == ("alice", "", "Lax")


def test_nobody_is_named_where_nobody_was_signed_in(client, db):
    assert SIGNED_OUT not in client.post(reverse("logout")).cookies


def test_a_deleted_account_is_forgotten_by_the_browser_too(client, people):
    client.force_login(people.charlie)
    answer = client.post(reverse("account-delete"), {"password": "charlie"})
    assert answer.cookies[SIGNED_OUT].value == "charlie"


def test_every_page_of_somebody_has_the_question(client, people):
    client.force_login(people.alice)
    page = client.get("/suites/").content.decode()
    assert 'data-sign-out="alice"' in page
    assert "data-sign-out-question" in page
