"""While the database is empty, outdated or unreachable, every command says in one sentence what to run."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class
from django.db import connections
from django.db.backends.sqlite3.base import DatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from gym.site_command import FORMER, SiteCommand
from tests.test_house import ROOT, own_commands

SUITE = str(ROOT / "gym" / "demo" / "data" / "suites" / "npi.json")
EXEMPT = {
    "serve": "migrates by itself (tests/jobs/test_serve.py)",
    "migrate": "makes the tables",
    "init": "makes the tables (tests/jobs/test_init.py)",
    "doctor": "reports it among what else it finds",
    "lmc": "uses the database for models of the site only",
}
EXTRA_ARGUMENTS = {"api_schema": ["--check"]}  # otherwise the command would write a file of the repository
EMPTY = "The database is empty: run `lmgym init` first"
OLD = "(1 migration has not been applied): run `lmgym init`."


def loaded(name: str) -> Any:
    return load_command_class(get_commands()[name], name)


def arguments(name: str) -> list[str]:
    """Return a value for every required argument of a command."""
    given = list(EXTRA_ARGUMENTS.get(name, []))
    for action in loaded(name).create_parser("manage.py", name)._actions:
        value = (
            next(iter(action.choices)) if action.choices else SUITE if action.type is Path else "some-name"
        )
        if action.required:
            given += [action.option_strings[0], value] if action.option_strings else [value]
    return given


def using_tables() -> list[str]:
    return [name for name in own_commands() if isinstance(loaded(name), SiteCommand)]


def using_none() -> list[str]:
    return sorted(set(own_commands()) - set(using_tables()) - set(EXEMPT))


@pytest.fixture(autouse=True)
def _migrations_of_the_site(settings):
    """Enable the site's migrations, which pytest switches off (`--nomigrations`)."""
    settings.MIGRATION_MODULES = {}


@pytest.fixture
def applied(db, monkeypatch) -> dict[tuple[str, str], None]:
    """All migrations, with those that squashed ones replace: the database reports them as applied."""
    found = dict.fromkeys(all_migrations())
    monkeypatch.setattr(MigrationRecorder, "applied_migrations", lambda _: found)
    return found


@cache
def all_migrations() -> list[tuple[str, str]]:
    return list(MigrationLoader(None).disk_migrations)


@pytest.fixture
def new_database(tmp_path, django_db_blocker):
    """A new installation whose database has no tables yet."""
    before = connections["default"]
    values = before.settings_dict | {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": tmp_path / "new.sqlite3",
        "OPTIONS": {},
    }
    connections["default"] = DatabaseWrapper(values, "default")
    with django_db_blocker.unblock():
        yield values
        connections["default"].close()
    connections["default"] = before


@pytest.mark.parametrize("name", using_tables())
def test_on_an_empty_database_every_command_says_what_to_run(name, new_database):
    with pytest.raises(CommandError) as refused:
        call_command(name, *arguments(name))
    assert str(refused.value).startswith(EMPTY)
    assert len(str(refused.value).splitlines()) == 1


def test_on_a_database_of_an_older_version_a_command_says_what_to_run(applied):
    del applied["runs", max(name for app, name in applied if app == "runs")]
    with pytest.raises(CommandError) as refused:
        call_command("clean_up")
    assert str(refused.value).endswith(OLD)


@pytest.mark.parametrize("name", ["clean_up", "migrate"])
def test_on_a_database_from_before_the_tables_were_made_anew_a_command_says_what_carries_over(name, applied):
    applied["evaluations", "0001_initial"] = None
    applied["suites", "0099_of_the_former_tables"] = None
    with pytest.raises(CommandError) as refused:
        call_command(name)
    assert str(refused.value) == FORMER


@pytest.mark.parametrize("name", using_none())
def test_the_other_commands_do_without_a_database(name):
    """Without the fixture `db`, every query is an error."""
    try:
        call_command(name, *arguments(name), stdout=io.StringIO(), stderr=io.StringIO())
    except (CommandError, SystemExit) as end:
        assert "migrate" not in str(end)


def test_a_model_of_the_site_plays_no_game_before(new_database, capfd):
    with pytest.raises(SystemExit) as end:
        call_command("lmc", "serve", "--model", "demo-ngram")
    assert end.value.code == 2
    assert EMPTY in capfd.readouterr().err


def test_the_doctor_finds_it_and_goes_on(new_database):
    out = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("doctor", stdout=out)
    assert f"BAD  {EMPTY}" in out.getvalue()
    assert "free in" in out.getvalue()


def test_a_database_that_does_not_answer_is_named(new_database):
    connections["default"].settings_dict["NAME"] = "/nowhere/at/all.sqlite3"
    with pytest.raises(CommandError, match=r"does not answer: unable to open .* Check GYM_DATABASE_URL\."):
        call_command("export_suite", "some-suite")


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "database", "says"),
    [
        (["createsuperuser", "--noinput", "--username", "a", "--email", "a@b.org"], "new.sqlite3", EMPTY),
        (["migrate"], "no/folder.sqlite3", "does not answer"),
    ],
    ids=["createsuperuser", "migrate"],
)
def test_who_types_it_reads_one_sentence_and_no_traceback(tmp_path, words, database, says):
    env = os.environ | {
        "GYM_VAR_DIR": str(tmp_path),
        "GYM_DATABASE_URL": f"sqlite:///{tmp_path / database}",
        "DJANGO_SUPERUSER_PASSWORD": "long-enough-1",
    }
    done = subprocess.run(
        [sys.executable, "manage.py", *words], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert says in done.stderr
    assert re.search(r"Traceback|File \"", done.stderr) is None
