"""Environment variables: values, defaults, and error messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym import env

NAME = "GYM_TEST_VALUE"


@pytest.fixture
def put(monkeypatch):
    def set_to(value: str | None) -> None:
        if value is None:
            monkeypatch.delenv(NAME, raising=False)
        else:
            monkeypatch.setenv(NAME, value)

    return set_to


@pytest.mark.parametrize(
    ("value", "expected"),
    [("1", True), ("TRUE", True), ("yes", True), ("on", True), ("0", False), ("No", False), ("off", False)],
)
def test_flags(put, value, expected):
    put(value)
    assert env.flag(NAME, not expected) is expected


@pytest.mark.parametrize("value", [None, ""])
def test_unset_and_empty_are_the_default(put, value):
    put(value)
    assert env.flag(NAME, True) is True
    assert env.number(NAME, 7) == 7
    assert env.words(NAME) == []


def test_numbers_and_lists(put):
    put(" 42 ")
    assert env.number(NAME, 0) == 42
    put("a, b,,c ")
    assert env.words(NAME) == ["a", "b", "c"]


def test_a_number_below_the_least_one_and_a_word_off_the_list_are_refused(put):
    put("0")
    assert env.number(NAME, 5) == 0
    with pytest.raises(env.EnvError, match=f"{NAME}='0' is too small; use 1 or more"):
        env.number(NAME, 5, least=1)
    put("loud")
    with pytest.raises(env.EnvError, match=f"{NAME}='loud' is not one of INFO, DEBUG"):
        env.choice(NAME, "INFO", ("INFO", "DEBUG"))
    put("")
    assert env.choice(NAME, "INFO", ("INFO", "DEBUG")) == "INFO"


def test_a_secret_comes_from_its_file_when_one_is_named(monkeypatch, tmp_path):
    (tmp_path / "secret").write_text("from the file\n")
    monkeypatch.setenv(NAME, "from the variable")
    assert env.secret(NAME) == "from the variable"
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "secret"))
    assert env.secret(NAME) == "from the file"
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "nothing"))
    with pytest.raises(env.EnvError, match=f"{NAME}_FILE"):
        env.secret(NAME)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///gym.sqlite3", "gym.sqlite3"),
        ("sqlite:////srv/gym.sqlite3", "/srv/gym.sqlite3"),
        ("sqlite3:////srv/with%20blank", "/srv/with blank"),
    ],
)
def test_sqlite(put, url, path):
    put(url)
    found = env.database(NAME, Path("unused"))
    assert (found["ENGINE"], found["NAME"]) == ("django.db.backends.sqlite3", Path(path))
    assert found["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert "journal_mode=WAL" in found["OPTIONS"]["init_command"]


def test_without_an_address_the_default_file_is_used_and_its_folder_made(put, tmp_path):
    put(None)
    found = env.database(NAME, tmp_path / "var" / "gym.sqlite3")
    assert found["NAME"] == tmp_path / "var" / "gym.sqlite3"
    assert (tmp_path / "var").is_dir()


def test_two_databases_do_not_share_their_options(put):
    put("sqlite:///a")
    env.database(NAME, Path("unused"))["OPTIONS"]["timeout"] = 1
    assert env.database(NAME, Path("unused"))["OPTIONS"]["timeout"] == 20


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://db/gym", {"NAME": "gym", "USER": "", "PASSWORD": "", "HOST": "db", "PORT": ""}),
        (
            "postgres://me:p%40ss%2Fword@db.example.org:5433/gym",
            {"NAME": "gym", "USER": "me", "PASSWORD": "p@ss/word", "HOST": "db.example.org", "PORT": "5433"},
        ),
        ("postgresql://me@[::1]:5432/gym", {"HOST": "::1", "PORT": "5432", "USER": "me"}),
        (
            "postgresql:///gym?host=/run/postgresql",
            {"NAME": "gym", "HOST": "/run/postgresql", "OPTIONS": env.POSTGRESQL_OPTIONS},
        ),
        (
            "postgresql://db/gym?sslmode=require",
            {"HOST": "db", "OPTIONS": env.POSTGRESQL_OPTIONS | {"sslmode": "require"}},
        ),
    ],
)
def test_postgresql(put, url, expected):
    put(url)
    found = env.database(NAME, Path("unused"))
    assert found["ENGINE"] == "django.db.backends.postgresql"
    assert {key: found[key] for key in expected} == expected


def test_without_psycopg_the_extra_is_named(put, monkeypatch):
    monkeypatch.setattr(env, "find_spec", lambda name: None)
    put("postgresql://db/gym")
    with pytest.raises(env.EnvError, match=r"lm-gym\[scale\]"):
        env.database(NAME, Path("unused"))


@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:secret@host/name",
        "gym.sqlite3",
        "sqlite://gym.sqlite3",
        "sqlite:///",
        "postgresql://me:secret@host",
        "postgresql://me:secret@host/",
        "postgresql://me:secret@host:port/name",
        "postgresql://me:sec/ret@host/name",
        "postgresql://[::1/name",
    ],
)
def test_a_wrong_address_is_refused_by_name_and_its_password_is_not_repeated(put, url):
    put(url)
    with pytest.raises(env.EnvError, match=NAME) as caught:
        env.database(NAME, Path("unused"))
    assert "sec" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_an_empty_secret_file_is_named(monkeypatch, tmp_path):
    (tmp_path / "secret").touch()
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "secret"))
    with pytest.raises(env.EnvError, match="which is empty"):
        env.secret(NAME)


def test_a_folder_that_is_a_file_is_refused(put, tmp_path):
    (tmp_path / "file").touch()
    put(str(tmp_path / "file"))
    with pytest.raises(env.EnvError, match="which is not a folder"):
        env.folder(NAME, tmp_path)


@pytest.mark.parametrize("zone", ["Europe/Berlim", "../etc/passwd", "Europe"])
def test_an_unknown_time_zone_is_refused(put, zone):
    put(zone)
    with pytest.raises(env.EnvError, match="is not a time zone"):
        env.time_zone(NAME, "UTC")


def test_a_misspelt_broker_is_refused_without_its_password(put):
    put("reddis://:secret@host/0")
    with pytest.raises(env.EnvError, match="starts with 'reddis'") as error:
        env.broker(NAME, "database://")
    assert "secret" not in str(error.value)


def test_a_broker_without_a_scheme_is_refused_without_its_password(put):
    put("me:secret@host/0")
    with pytest.raises(env.EnvError, match="is not the address of a broker; use database://") as error:
        env.broker(NAME, "database://")
    assert "secret" not in str(error.value)
