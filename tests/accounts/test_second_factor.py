"""Two-factor authentication: authenticator apps, recovery codes, accounts that must have a second factor. Passkeys are
in tests/browser."""

from __future__ import annotations

import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value
from django.core.management import CommandError, call_command

from gym.accounts.confirmed import confirm_address
from gym.accounts.models import User
from gym.accounts.tokens import create_token

LOGIN, INDEX, SECOND = "/accounts/login/", "/accounts/2fa/", "/accounts/2fa/authenticate/"
APP = "/accounts/2fa/app/"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def code(secret=SECRET, steps=0) -> str:
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))


@pytest.fixture
def offered(settings):
    settings.GYM_REQUIRE_2FA = "optional"


@pytest.fixture
def with_app(people, offered):
    TOTP.activate(people.alice, SECRET)
    RecoveryCodes.activate(people.alice)
    return people.alice


def password(client, **more):
    return client.post(LOGIN, {"username": "alice", "password": "alice", **more})


def signed_in(client) -> bool:
    return "_auth_user_id" in client.session


def test_an_app_is_set_up_after_the_password_and_brings_recovery_codes(client, people, offered, mailoutbox):
    confirm_address(people.alice)  # allauth would offer a code by mail, which has no page here
    client.force_login(people.alice)
    asked = client.get(APP)
    assert asked.url.startswith("/accounts/reauthenticate/")
    assert client.post(asked.url, {"password": "wrong"}).status_code == 200
    assert client.post(asked.url, {"password": "alice"}).url == APP
    page = client.get(APP)
    assert page.context["totp_svg_data_uri"] in page.content.decode()
    secret = page.context["form"].secret
    assert client.post(APP, {"code": "000000"}).status_code == 200
    assert client.post(APP, {"code": code(secret)}).url == "/accounts/2fa/recovery-codes/"
    shown = client.get("/accounts/2fa/recovery-codes/").context["unused_codes"]
    assert len(shown) == 10
    stored = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in stored  # encrypted


def test_the_password_alone_no_longer_signs_in(client, with_app):
    assert password(client, next="/suites/").url == SECOND
    assert not signed_in(client)
    assert client.get("/accounts/profile/").url.startswith(LOGIN)
    assert client.post(SECOND, {"code": "000000"}).status_code == 200
    assert not signed_in(client)
    assert client.post(SECOND, {"code": code()}).url == "/suites/"
    assert signed_in(client)


def test_a_code_works_once(client, with_app):
    used = code()
    for expected in (True, False):
        password(client)
        client.post(SECOND, {"code": used})
        assert signed_in(client) == expected
        client.post("/accounts/logout/")


def test_a_recovery_code_works_once(client, with_app):
    recovery = Authenticator.objects.get(type="recovery_codes").wrap().get_unused_codes()[0]
    for expected in (True, False):
        password(client)
        client.post(SECOND, {"code": recovery})
        assert signed_in(client) == expected
        client.post("/accounts/logout/")


def test_a_new_password_by_mail_does_not_replace_the_second_factor(client, with_app):
    with_app.set_password("changed")
    with_app.save()
    assert client.post(LOGIN, {"username": "alice", "password": "changed"}).url == SECOND


def test_codes_cannot_be_tried_forever(client, with_app, settings):
    settings.GYM_SIGN_IN_TRIES_PER_ACCOUNT = 2
    password(client)
    tries = [client.post(SECOND, {"code": "000000"}).status_code for _ in range(3)]
    assert tries == [200, 200, 429]
    assert client.post(SECOND, {"code": code()}).status_code == 429


def test_a_factor_whose_key_is_lost_gives_an_error_not_a_way_in(client, with_app, settings):
    password(client)
    settings.GYM_SECRETS_KEY = "another key"
    page = client.post(SECOND, {"code": code()})
    assert (page.status_code, signed_in(client)) == (200, False)
    assert "key has changed" in page.content.decode()


def test_staff_do_nothing_before_they_have_a_required_second_factor(client, people, settings):
    settings.GYM_REQUIRE_2FA = "staff"
    client.force_login(people.staff)
    for address in ("/", "/staff/", "/admin/", "/accounts/profile/", "/suites/"):
        assert client.get(address).url.startswith(INDEX), address
    assert client.get("/api/v1/me/").status_code == 403
    _, token = create_token(actor=people.staff, name="cron", scopes=["read"])
    bearer = {"headers": {"Authorization": f"Bearer {token}"}}
    client.logout()
    assert client.get("/api/v1/me/", **bearer).status_code == 403
    client.force_login(people.staff)
    assert "Set it up to continue" in client.get(INDEX).content.decode()
    assert client.get(APP).url.startswith("/accounts/reauthenticate/")
    TOTP.activate(people.staff, SECRET)
    assert client.get("/staff/").status_code == 200
    assert client.get("/api/v1/me/", **bearer).status_code == 200


def test_others_are_left_alone_unless_everybody_needs_one(client, people, settings):
    settings.GYM_REQUIRE_2FA = "staff"
    client.force_login(people.alice)
    assert client.get("/suites/").status_code == 200
    settings.GYM_REQUIRE_2FA = "everyone"
    assert client.get("/suites/").url.startswith(INDEX)
    client.logout()
    assert client.get("/suites/").status_code == 200


def test_nobody_is_locked_out_when_the_site_stops_offering_second_factors(client, with_app, settings):
    settings.GYM_REQUIRE_2FA = "off"
    assert password(client).url == "/"
    assert signed_in(client)


def test_a_lost_factor_is_reset_by_a_command(client, with_app, capsys):
    call_command("reset_second_factor", "alice")
    assert password(client).url == "/"
    with pytest.raises(CommandError, match="no second factor"):
        call_command("reset_second_factor", "alice")
    with pytest.raises(CommandError, match="no account nobody"):
        call_command("reset_second_factor", "nobody")
    assert User.objects.filter(username="alice").exists()
