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

from tests.process.site import ROOT

pytestmark = [pytest.mark.process, pytest.mark.long, pytest.mark.timeout(1800)]

EARLIER = {"before 0.9.0": "3576e17d", "0.9.0": "d3859685", "before human data": "d687718b"}
"""Commits whose sites are upgraded."""
FILL = """
from gym.accounts.models import User
from gym.collections.services import make_collection, publish_collection
from suites.models import SuiteRevision
alice = User.objects.get(username="alice")
one = make_collection(actor=alice, slug="first", title="First", description="", reference="",
                      revisions=list(SuiteRevision.objects.filter(frozen_at__isnull=False)[:3]))
publish_collection(one, actor=alice)
"""
WITHOUT = {"django_migrations", "django_content_type", "auth_permission", "django_session", "jobs_workerheartbeat"}
"""Tables without numbers of people's work."""
MUST_HAVE = {"runs_suiterun", "runs_runsummary", "lmchallenge_game", "propara_submission", "agents_agentrun"}


def rows(folder: Path) -> dict[tuple[str, int], Counter[Any]]:
    """Return how often each number, and each word or blob that is not JSON, occurs in every row of the database."""
    (file,) = folder.glob("*.sqlite3")
    found = {}
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for key, *row in database.execute(f'SELECT rowid, * FROM "{table}"'):  # noqa: S608
                found[table, key] = Counter(number for value in row for number in numbers(value))
    return found


def numbers(value: Any) -> Iterator[Any]:
    """Yield the numbers of a cell, those in its JSON included; a blob counts as one."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            value = json.loads(value)
        except ValueError:
            return
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from numbers(inner)
    elif isinstance(value, int | float | bytes) and not isinstance(value, bool):
        yield value


@pytest.mark.parametrize("version", EARLIER)
def test_an_upgrade_keeps_every_number(version, tmp_path):
    code, site = tmp_path / "code", tmp_path / "site"
    code.mkdir()
    known = subprocess.run(["git", "cat-file", "-e", EARLIER[version]], cwd=ROOT, capture_output=True, check=False)
    if known.returncode:
        pytest.skip(f"this checkout does not have commit {EARLIER[version]}")
    archive = subprocess.run(["git", "archive", EARLIER[version]], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "--extract", "--directory", code], input=archive, check=True)

    def command(folder: Path, *arguments: str) -> None:
        env = os.environ | {
            "GYM_VAR_DIR": str(site),
            "GYM_DEMO_TRAINED_MODEL": "0",
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": str(folder),
        }
        subprocess.run([sys.executable, "manage.py", *arguments], cwd=folder, env=env, check=True, timeout=900)

    command(code, "migrate", "-v", "0")
    command(code, "demo")
    command(code, "worker", "--drain")
    command(code, "shell", "-c", FILL)
    before = rows(site)

    command(ROOT, "init")
    after = rows(site)
    print(len(before), "rows,", sum(map(len, before.values())), "numbers")
    assert not MUST_HAVE - {table for table, _ in before}
    lost = {
        key: had - after.get(key, Counter())
        for key, had in before.items()
        if key[0] not in WITHOUT and had - after.get(key, Counter())
    }
    assert lost == {}
