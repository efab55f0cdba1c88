"""Findings of `lmgym doctor` about sign-in through other services and second factors."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from gym.doctor import BAD, OK, WARN, sign_in
from tests.accounts.issuer import running_issuer


def findings() -> dict[str, str]:
    return {text: level for level, text in sign_in.check()}


def level_of(words: str) -> str:
    return next(level for text, level in findings().items() if words in text)


def test_nothing_is_said_while_everything_is_off():
    assert findings() == {}


@pytest.mark.parametrize(
    ("name", "value", "missing"),
    [
        ("GYM_OIDC_CLIENT_ID", "gym", "GYM_OIDC_ISSUER, GYM_OIDC_CLIENT_SECRET is not set"),
        ("GYM_ORCID_CLIENT_ID", "APP-1", "ORCID is off: GYM_ORCID_CLIENT_SECRET"),
        ("GYM_GITHUB_CLIENT_SECRET", "x", "GitHub is off: GYM_GITHUB_CLIENT_ID"),
        ("GYM_LDAP_URL", "ldaps://ldap.example.org", "Directory is off: GYM_LDAP_USERS"),
        ("GYM_PROXY_USER_HEADER", "X-Remote-User", "Proxy is off: GYM_PROXY_ADDRESSES"),
    ],
)
def test_half_a_configuration_is_named(settings, name, value, missing):
    setattr(settings, name, value)
    assert level_of(missing) == BAD


def test_the_issuer_is_asked(settings):
    settings.GYM_OIDC_CLIENT_ID = settings.GYM_OIDC_CLIENT_SECRET = "x"
    with running_issuer() as issuer:
        settings.GYM_OIDC_ISSUER = issuer.address
        assert level_of("sign-in with Single sign-on") == OK
        settings.GYM_OIDC_ISSUER = issuer.address.replace("127.0.0.1", "localhost")
        assert level_of("names another issuer") == BAD
    assert level_of("Connection refused") == BAD


def test_a_header_that_anybody_could_send(settings):
    settings.GYM_PROXY_USER_HEADER = "X_Remote_User"
    settings.GYM_PROXY_ADDRESSES = [ip_network("0.0.0.0/0")]
    assert level_of("sign in as anybody") == BAD
    assert level_of("use hyphens") == BAD


def test_settings_without_effect(settings):
    settings.GYM_STAFF_GROUPS, settings.GYM_SIGN_UP_FROM = ["admins"], ["ldap"]
    assert level_of("GYM_STAFF_GROUPS has no effect") == WARN
    assert level_of("GYM_SIGN_UP_FROM=ldap has no effect") == WARN


def test_passkeys_without_https(settings):
    settings.GYM_REQUIRE_2FA, settings.ALLOWED_HOSTS = "staff", ["gym.example.org"]
    assert level_of("passkeys need HTTPS") == WARN
