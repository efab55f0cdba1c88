"""Management commands while a site writes to the same SQLite file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.process.commands import NAMES
from tests.process.site import ROOT, empty_site

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def troubles(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("site")
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.process.settings",
        "GYM_VAR_DIR": str(folder),
        "GYM_DATABASE_URL": f"sqlite:///{folder / 'gym.sqlite3'}",
        "HF_HUB_OFFLINE": "1",
    }
    shutil.copytree(empty_site(), folder, dirs_exist_ok=True)
    command = [sys.executable, "-m", "tests.process.concurrent_writer", str(folder)]
    done = subprocess.run(command, env=env, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_a_command_does_its_work_while_the_site_writes(troubles, name):
    assert troubles[name] == ""
