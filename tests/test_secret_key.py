"""Sites that other machines can reach refuse the published secret key."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.core.management import CommandError, call_command

from gym.reachability import is_local_only


@pytest.mark.parametrize(
    ("hosts", "listens_on", "here"),
    [
        (["127.0.0.1", "localhost", "[::1]"], "127.0.0.1", True),
        (["localhost"], "::1", True),
        (["localhost"], "0.0.0.0", False),
        (["localhost"], "", False),
        (["gym.example.org"], "127.0.0.1", False),
        (["*"], "127.0.0.1", False),
    ],
)
def test_who_can_reach_a_site(hosts, listens_on, here):
    assert is_local_only(hosts, listens_on) is here


def test_a_site_that_others_reach_does_not_start_with_it(tmp_path):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GYM_")}
    told = subprocess.run(
        [sys.executable, "manage.py", "check"],
        env={**clean, "GYM_VAR_DIR": str(tmp_path), "GYM_ALLOWED_HOSTS": "gym.example.org"},
        capture_output=True,
        text=True,
    )
    assert told.returncode != 0
    assert "GYM_SECRET_KEY is not set" in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize("command", ["serve", "web"])
def test_nor_does_a_command_that_is_told_to_listen_to_others(db, monkeypatch, command):
    monkeypatch.delattr(f"gym.jobs.management.commands.{command}.bind")  # so that nothing starts in any case
    with pytest.raises(CommandError, match="GYM_SECRET_KEY is not set"):
        call_command(command, host="0.0.0.0")
    assert "GYM_LISTENS_ON" not in os.environ, "a refusal leaves nothing behind"
