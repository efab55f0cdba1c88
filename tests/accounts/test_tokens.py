"""API tokens on the profile page: created, shown once, revoked."""

from __future__ import annotations

import hashlib
import logging
from datetime import timedelta

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import connection
from django.utils import timezone

from gym.accounts import tokens
from gym.accounts.models import ApiToken
from gym.accounts.redaction import NoTokens

PAGE = "/accounts/tokens/"
FORM = {"name": "ci", "scopes": ["read", "run"], "days": "90"}


@pytest.fixture
def alice(client, people):
    client.force_login(people.alice)
    return people.alice


def shown_in(page: str) -> str:
    return page.split('id="plain-token">')[1].split("<")[0]


def test_a_token_is_shown_once_and_then_only_its_beginning(client, alice):
    response = client.post(PAGE, FORM)
    assert response.status_code == 201
    assert "no-store" in response["Cache-Control"]
    plain = shown_in(response.content.decode())
    assert len(plain) == 47  # lmg_ and 32 bytes in base64
    later = client.get(PAGE).content.decode()
    assert plain not in later
    assert plain[:12] in later
    token = ApiToken.objects.get()
    assert (token.user, token.name, token.scopes) == (alice, "ci", ["read", "run"])
    assert timedelta(days=89) < token.expires - timezone.now() < timedelta(days=90)


def test_the_database_holds_a_hash_only(client, alice):
    plain = shown_in(client.post(PAGE, FORM).content.decode())
    token = ApiToken.objects.get()
    assert token.digest == hashlib.sha256(plain.encode()).hexdigest()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            assert plain not in str(cursor.fetchall()), table
    assert plain not in f"{token!r} {token} {vars(token)}"


def test_neither_messages_nor_tracebacks_carry_a_token_into_the_log(alice):
    _, plain = tokens.create_token(actor=alice, name="x", scopes=["read"])
    try:
        raise ValueError(plain)
    except ValueError as error:
        record = logging.LogRecord(
            "gym", 40, "", 1, "sent %s", (plain,), (type(error), error, error.__traceback__)
        )
    written = NoTokens("%(message)s").format(record)
    assert plain not in written
    assert plain[:12] in written


@pytest.mark.parametrize(
    "given",
    [
        {"name": "", "scopes": ["read"], "days": "90"},
        {"name": "x", "days": "90"},
        {"name": "x", "scopes": ["root"], "days": "90"},
        {"name": "x", "scopes": ["read"], "days": "100000"},
        {"name": "x" * 101, "scopes": ["read"], "days": ""},
    ],
)
def test_what_is_wrong_is_said_and_no_token_made(client, alice, given):
    assert client.post(PAGE, given).status_code == 400
    assert not ApiToken.objects.exists()


def test_a_token_may_live_for_ever(client, alice):
    client.post(PAGE, FORM | {"days": ""})
    assert ApiToken.objects.get().expires is None


def test_a_revoked_token_stays_in_the_list_as_revoked(client, alice):
    token, plain = tokens.create_token(actor=alice, name="old", scopes=["read"])
    client.post(f"{PAGE}{token.pk}/revoke/")
    assert "revoked" in client.get(PAGE).content.decode()
    with pytest.raises(tokens.BadToken, match="revoked"):
        tokens.find_token(plain)


def test_nobody_sees_or_revokes_the_tokens_of_others(client, people, alice):
    token, _ = tokens.create_token(actor=people.bob, name="bobs own", scopes=["read"])
    assert "bobs own" not in client.get(PAGE).content.decode()
    assert client.post(f"{PAGE}{token.pk}/revoke/").status_code == 404
    with pytest.raises(PermissionDenied):
        tokens.revoke_token(token, actor=alice)
    token.refresh_from_db()
    assert token.is_live


def test_services_refuse_what_the_form_refuses(people):
    for scopes, expires in (([], None), (["root"], None), (["read"], timezone.now())):
        with pytest.raises(ValidationError):
            tokens.create_token(actor=people.alice, name="x", scopes=scopes, expires=expires)
    with pytest.raises(PermissionDenied):
        tokens.create_token(actor=people.nobody, name="x", scopes=["read"])


def test_there_is_an_end_to_the_number_of_tokens(people, monkeypatch):
    monkeypatch.setattr(tokens, "MAX_LIVE", 2)
    first, _ = tokens.create_token(actor=people.alice, name="1", scopes=["read"])
    tokens.create_token(actor=people.alice, name="2", scopes=["read"])
    with pytest.raises(ValidationError, match="Revoke"):
        tokens.create_token(actor=people.alice, name="3", scopes=["read"])
    tokens.revoke_token(first, actor=people.alice)
    tokens.create_token(actor=people.alice, name="3", scopes=["read"])


def test_the_administration_shows_neither_token_nor_hash(client, people):
    token, _ = tokens.create_token(actor=people.alice, name="hers", scopes=["read"])
    client.force_login(people.staff)
    for address in ("/admin/accounts/apitoken/", f"/admin/accounts/apitoken/{token.pk}/change/"):
        page = client.get(address)
        assert page.status_code == 200
        assert "hers" in page.content.decode()
        assert token.digest not in page.content.decode()
