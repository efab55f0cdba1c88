"""Mail settings read from GYM_EMAIL_URL."""

from __future__ import annotations

import pytest

from gym import env


def email(monkeypatch, url: str) -> env.Email:
    monkeypatch.setenv("GYM_EMAIL_URL", url)
    return env.email("GYM_EMAIL_URL")


@pytest.mark.parametrize("url", ["", "console:"])
def test_without_a_server_mail_goes_to_the_console(monkeypatch, url):
    assert email(monkeypatch, url).backend.endswith("console.EmailBackend")


@pytest.mark.parametrize(
    ("url", "port", "starttls", "tls"),
    [
        ("smtp://mail.example.org", 587, True, False),
        ("smtp://mail.example.org:25?tls=0", 25, False, False),
        ("smtps://mail.example.org/", 465, False, True),
    ],
)
def test_mail_is_encrypted_unless_somebody_says_otherwise(monkeypatch, url, port, starttls, tls):
    found = email(monkeypatch, url)
    assert found.backend.endswith("smtp.EmailBackend")
    assert (found.host, found.port, found.starttls, found.tls) == ("mail.example.org", port, starttls, tls)


def test_user_and_password_may_hold_any_sign_and_come_from_a_file(monkeypatch, tmp_path):
    secret = tmp_path / "mail"
    secret.write_text("smtp://gym%40example.org:p%2Fa%3As@mail.example.org:2525\n")
    monkeypatch.setenv("GYM_EMAIL_URL_FILE", str(secret))
    found = env.email("GYM_EMAIL_URL")
    assert (found.user, found.password, found.port) == ("gym@example.org", "p/a:s", 2525)
    assert "p/a:s" not in repr(found)


def test_an_error_repeats_no_password(monkeypatch):
    with pytest.raises(env.EnvError) as refused:
        email(monkeypatch, "imap://me:secret-word@mail.example.org")
    assert "secret-word" not in str(refused.value)
