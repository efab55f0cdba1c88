"""Resetting a forgotten password."""

from __future__ import annotations

import re

import pytest

RESET = "/accounts/password/reset/"
NEW = {"new_password1": "correct horse 7", "new_password2": "correct horse 7"}


def link_in(mail) -> str:
    return re.search(r"http://testserver(/\S+)", mail.body)[1]


def test_the_link_in_the_mail_opens_a_form_that_changes_the_password(client, people, mailoutbox):
    assert client.post(RESET, {"email": "alice@example.org"}).url == f"{RESET}sent/"
    [mail] = mailoutbox
    assert mail.to == ["alice@example.org"]
    assert "alice" in mail.body
    form = client.get(link_in(mail), follow=True)
    address = form.request["PATH_INFO"]
    assert "New password" in form.content.decode()
    assert client.post(address, NEW).url == "/accounts/login/"
    people.alice.refresh_from_db()
    assert people.alice.check_password("correct horse 7")
    # The link works once.
    again = client.get(link_in(mail), follow=True)
    assert "This link does not work" in again.content.decode()


@pytest.mark.parametrize(
    ("host", "port", "trusted", "linked"),
    [
        ("testserver:6666", "80", [], "http://testserver/"),
        ("testserver:6666", "8000", [], "http://testserver/"),
        ("testserver:8000", "8000", [], "http://testserver:8000/"),
        ("testserver:8443", "8000", ["http://testserver:8443"], "http://testserver:8443/"),
        ("[::1]:6666", "80", [], "http://[::1]/"),
    ],
)
def test_the_link_has_no_port_that_a_visitor_made_up(
    client, people, mailoutbox, settings, host, port, trusted, linked
):
    settings.ALLOWED_HOSTS = ["testserver", "[::1]"]
    settings.CSRF_TRUSTED_ORIGINS = trusted
    client.post(RESET, {"email": "alice@example.org"}, HTTP_HOST=host, SERVER_PORT=port)
    assert f"{linked}accounts/" in mailoutbox[0].body
    assert "6666" not in mailoutbox[0].body


def test_an_address_nobody_has_gets_the_same_answer_and_no_mail(client, people, mailoutbox):
    known = client.post(RESET, {"email": "alice@example.org"})
    unknown = client.post(RESET, {"email": "nobody@example.org"})
    assert (known.status_code, known.url) == (unknown.status_code, unknown.url)
    assert len(mailoutbox) == 1


def test_a_disabled_account_gets_no_mail(client, people, mailoutbox):
    people.alice.is_active = False
    people.alice.save()
    client.post(RESET, {"email": "alice@example.org"})
    assert mailoutbox == []


def test_a_weak_new_password_is_refused(client, people, mailoutbox):
    client.post(RESET, {"email": "alice@example.org"})
    form = client.get(link_in(mailoutbox[0]), follow=True)
    client.post(form.request["PATH_INFO"], {"new_password1": "123", "new_password2": "123"})
    people.alice.refresh_from_db()
    assert people.alice.check_password("alice")


@pytest.mark.parametrize("link", ["x/y/", "MQ/set-password/", "MQ/c-0123456789/"])
def test_a_made_up_link_does_not_work(client, people, link):
    page = client.get(RESET + link, follow=True)
    assert "This link does not work" in page.content.decode()


def test_nobody_floods_a_mailbox(client, people, mailoutbox):
    answers = [client.post(RESET, {"email": "Alice@Example.org"}) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [302, 302, 302, 429, 429]
    assert len(mailoutbox) == 3
    # An address without an account is throttled in the same way.
    others = [client.post(RESET, {"email": "nobody@example.org"}).status_code for _ in range(5)]
    assert others == [302, 302, 302, 429, 429]


def test_a_mail_server_that_is_down_is_logged_and_shows_nothing(client, people, monkeypatch, caplog):
    from gym.accounts import mail

    monkeypatch.setattr("django.db.connections.close_all", lambda: None)

    def down(*arguments):
        raise OSError("no route")

    mail._guarded(down, "alice@example.org")
    assert "could not be sent" in caplog.text
