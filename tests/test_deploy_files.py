"""The files of deploy/ fit the site: settings that exist, commands that are understood, files that the docs name."""

from __future__ import annotations

import ast
import configparser
import os
import re
import shlex
import shutil
import sqlite3
import subprocess

import pytest
from django.core.management import get_commands, load_command_class

from gym import env
from tests.lmgym.test_blocks_in_docs import blocks
from tests.test_house import ROOT

DEPLOY = ROOT / "deploy"
DOCS = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
SERVICES = sorted(DEPLOY.glob("*.service"))
WITH_SETTINGS = ("lm-gym.env", "compose.yaml", ".env.example", "Dockerfile")
ONLY_COMPOSE = {"GYM_HOST"}


def unit(path) -> configparser.ConfigParser:
    """Read a unit; of repeated names, such as ExecStart, the last value."""
    parsed = configparser.ConfigParser(strict=False, interpolation=None)
    parsed.optionxform = str
    parsed.read(path, encoding="utf-8")
    return parsed


@pytest.mark.parametrize("name", WITH_SETTINGS)
def test_every_setting_exists(name):
    found = set(re.findall(r"\bGYM_[A-Z_]+", (DEPLOY / name).read_text(encoding="utf-8")))
    assert found
    assert found - ONLY_COMPOSE <= set(env.names_read())


def test_the_site_understands_the_commands_of_the_units():
    calls = [
        shlex.split(line)
        for path in SERVICES
        for line in re.findall(r"^ExecStart=/opt/lm-gym/bin/lmgym (.+)$", path.read_text(), re.MULTILINE)
    ]
    assert len(calls) >= 3
    for call in calls:
        name, *rest = call[1:] if call[0] == "manage" else call
        words = [word for word in rest if not word.startswith("$")]
        load_command_class(get_commands()[name], name).create_parser("lmgym", name).parse_args(words)


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.name)
def test_every_unit_is_hardened(path):
    service = unit(path)["Service"]
    assert (service["User"], service["NoNewPrivileges"], service["CapabilityBoundingSet"]) == (
        "lmgym",
        "yes",
        "",
    )
    assert (service["ProtectSystem"], service["SystemCallFilter"]) == ("strict", "@system-service")


def test_workers_keep_access_to_gpus():
    """Both options allow no devices but a few."""
    assert not {"PrivateDevices", "ProtectClock"} & set(unit(DEPLOY / "lm-gym-worker@.service")["Service"])


def test_the_deploy_page_names_files_that_are_there():
    named = set(re.findall(r"(?:\"\$files\"/|`)(deploy/[\w.@-]+)", DOCS)) | {
        f"deploy/{name}" for name in re.findall(r"\b(lm-gym-[\w@-]+\.timer)\b", DOCS)
    }
    assert len(named) >= 5
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_image_gets_all_parts_of_the_wheel():
    passed = set(re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE))
    source = (ROOT / "hatch_build.py").read_text(encoding="utf-8")
    site = re.search(r"^SITE = (\(.*\))$", source, re.MULTILINE)
    assert site
    assert {*ast.literal_eval(site[1]), "lmgym", "pyproject.toml", "hatch_build.py"} <= passed


@pytest.mark.skipif(not shutil.which("sqlite3"), reason="needs the command sqlite3")
def test_a_copy_of_a_running_sqlite_database_is_restored(tmp_path):
    back_up, restore = (one.text for one in blocks() if one.heading == "Backups of SQLite")
    doctor = tmp_path / "bin" / "lmgym"
    doctor.parent.mkdir()
    doctor.write_text('#!/bin/sh\nsqlite3 "${GYM_DATABASE_URL#sqlite:///}" "SELECT * FROM kept" > tried\n')
    doctor.chmod(0o755)
    site = sqlite3.connect(tmp_path / "gym.sqlite3", isolation_level=None)
    site.execute("PRAGMA journal_mode = wal")
    site.execute("CREATE TABLE kept (word)")
    site.execute("INSERT INTO kept VALUES ('before')")
    environment = os.environ | {
        "GYM_VAR_DIR": str(tmp_path),
        "PATH": f"{doctor.parent}:{os.environ['PATH']}",
    }
    subprocess.run(["sh", "-ec", back_up], env=environment, check=True)
    assert (tmp_path / "tried").read_text() == "before\n"
    site.execute("INSERT INTO kept VALUES ('after')")
    # a process that is killed leaves its -wal: this one still has the file open
    subprocess.run(["sh", "-ec", restore], env=environment, cwd=tmp_path, check=True)
    with sqlite3.connect(tmp_path / "gym.sqlite3") as restored:
        assert restored.execute("SELECT word FROM kept").fetchall() == [("before",)]
    site.close()
