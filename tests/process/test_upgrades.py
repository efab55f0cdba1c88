"""A site of an earlier version is upgraded by `init`: every number that it had is still there, row by row."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.process.site import ROOT, empty_site

pytestmark = [pytest.mark.process, pytest.mark.long, pytest.mark.timeout(1800)]

EARLIER = {"before 0.9.0": "3576e17d", "0.9.0": "d3859685", "before human data": "d687718b"}
"""Commits whose sites are upgraded."""
FILL = """
from gym.accounts.models import User
from gym.collections import services
from suites.models import SuiteRevision
alice = User.objects.get(username="alice")
make = getattr(services, "create_collection", None) or services.make_collection  # before 1.0.0
one = make(actor=alice, slug="first", title="First", description="", reference="",
           revisions=list(SuiteRevision.objects.filter(frozen_at__isnull=False)[:3]))
services.publish_collection(one, actor=alice)
"""
WITHOUT = {
    *(
        "django_migrations",
        "django_content_type",
        "auth_permission",
        "django_session",
        "jobs_workerheartbeat",
    ),
    *("sqlite_sequence", "agents_judgeopinion"),  # the latter was a cache
}
"""Tables without numbers of people's work."""
REMOVED = {"course", "by_position"}
"""Keys of JSON: counts of LM Challenge charts that no longer exist."""
MUST_HAVE = {
    *("runs_suiterun", "runs_runchunk", "runs_predictionresult", "collections_collectionentry"),
    *("lmchallenge_game", "propara_submission", "agents_caseiteration"),
}


def database_of(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{folder / 'gym.sqlite3'}?mode=ro", uri=True)


def tables(database: sqlite3.Connection) -> list[str]:
    return [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def columns(database: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    return database.execute(f'PRAGMA table_info("{table}")').fetchall()


def schema(folder: Path) -> set[Any]:
    """Return tables with their columns, in any order, indexes and triggers."""
    with database_of(folder) as database:
        made = {(table, *column[1:]) for table in tables(database) for column in columns(database, table)}
        query = "SELECT type, tbl_name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"
        return made | set(database.execute(query))


def rows(folder: Path) -> dict[tuple[Any, ...], Counter[Any]]:
    """Return how often each number occurs in every row of the database; (table, primary key …) -> counts."""
    found = {}
    with database_of(folder) as database:
        for table in tables(database):
            keys = [place for place, *_, in_key in columns(database, table) if in_key]
            for row in database.execute(f'SELECT * FROM "{table}"'):
                key = (table, *(row[place] for place in keys))
                found[key] = Counter(number for value in row for number in numbers(value))
    return found


def numbers(value: Any) -> Iterator[Any]:
    """Yield the numbers of a cell, those in its JSON included; a blob counts as one."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            value = json.loads(value)
        except ValueError:
            return
    if isinstance(value, dict | list):
        named = value.items() if isinstance(value, dict) else enumerate(value)
        for inner in (inner for name, inner in named if name not in REMOVED):
            yield from numbers(inner)
    elif isinstance(value, int | float | bytes) and not isinstance(value, bool):
        yield value


@pytest.mark.parametrize("version", EARLIER)
def test_an_upgrade_keeps_every_number(version, tmp_path):
    code, site = tmp_path / "code", tmp_path / "site"
    code.mkdir()
    known = subprocess.run(
        ["git", "cat-file", "-e", EARLIER[version]], cwd=ROOT, capture_output=True, check=False
    )
    if known.returncode:
        pytest.skip(f"this checkout does not have commit {EARLIER[version]}")
    archive = subprocess.run(
        ["git", "archive", EARLIER[version]], cwd=ROOT, capture_output=True, check=True
    ).stdout
    subprocess.run(["tar", "--extract", "--directory", code], input=archive, check=True)

    def command(folder: Path, *arguments: str) -> None:
        env = os.environ | {
            "GYM_VAR_DIR": str(site),
            "GYM_DEMO_TRAINED_MODEL": "0",
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": str(folder),
        }
        subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=folder, env=env, check=True, timeout=900
        )

    command(code, "migrate", "-v", "0")
    command(code, "demo")
    command(code, "worker", "--drain")
    command(code, "shell", "-c", FILL)
    before = rows(site)

    command(ROOT, "init")
    after = rows(site)
    assert schema(site) == schema(empty_site())
    print(len(before), "rows,", sum(map(len, before.values())), "numbers")
    assert not MUST_HAVE - {table for table, *_ in before}
    lost = {
        key: had - after.get(key, Counter())
        for key, had in before.items()
        if key[0] not in WITHOUT and had - after.get(key, Counter())
    }
    assert lost == {}
