"""Secrets at rest: encrypted, replaceable, readable only with the site's key."""

from __future__ import annotations

import pytest

from gym import doctor
from gym.doctor import services as checks
from gym.secrets import SecretError, SecretsField, decrypt, encrypt, reveal, sealed
from tests.factories import make_model


def test_what_is_stored_says_nothing():
    first, second = encrypt("sk-hush"), encrypt("sk-hush")
    assert "hush" not in first
    assert first != second
    assert decrypt(first) == decrypt(second) == "sk-hush"


def test_an_empty_field_keeps_and_none_takes_away():
    stored = sealed({}, {"api_key": "one", "other": "two"})
    assert reveal(sealed(stored, {"api_key": ""}), "api_key") == "one"
    assert reveal(sealed(stored, {"api_key": "new"}), "api_key") == "new"
    assert sealed(stored, {"api_key": None, "other": None}) == {}
    assert reveal(stored, "absent") == ""


def test_another_key_does_not_open_it_and_says_what_to_do(settings):
    settings.GYM_SECRETS_KEY = "first"
    token = encrypt("hush")
    settings.GYM_SECRETS_KEY = "second"
    with pytest.raises(SecretError, match="Enter the secret again") as failed:
        decrypt(token)
    assert "hush" not in str(failed.value)
    with pytest.raises(SecretError):
        decrypt("nonsense ☃")


def test_a_key_can_be_changed_while_the_old_one_is_kept_behind_a_comma(settings):
    settings.GYM_SECRETS_KEY = "first"
    old = encrypt("hush")
    settings.GYM_SECRETS_KEY = "second, first"
    new = encrypt("hush")
    assert decrypt(old) == "hush"
    settings.GYM_SECRETS_KEY = "second"
    assert decrypt(new) == "hush"


def test_without_a_key_of_its_own_the_secret_key_of_the_site_serves(settings):
    settings.GYM_SECRETS_KEY = ""
    token = encrypt("hush")
    settings.SECRET_KEY = "another"
    with pytest.raises(SecretError):
        decrypt(token)


def test_forms_leave_the_field_out():
    assert SecretsField().editable is False


def test_the_doctor_tries_the_key_on_what_is_stored(people, settings):
    settings.GYM_SECRETS_KEY = "the first key"
    model = make_model(people.alice, secrets=sealed({}, {"api_key": "sk-1"}))
    make_model(people.alice, slug="other")
    assert checks._secrets() == [(doctor.OK, "1 row with stored secrets, all readable")]
    settings.GYM_SECRETS_KEY = "another key"
    ((kind, said),) = checks._secrets()
    assert kind == doctor.BAD
    assert f"1 of 1 row cannot be read (model {model.pk}): GYM_SECRETS_KEY" in said
    settings.GYM_SECRETS_KEY = "another key,the first key"
    assert checks._secrets() == [(doctor.OK, "1 row with stored secrets, all readable")]
