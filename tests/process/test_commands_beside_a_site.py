"""Management commands beside a site that writes to the same SQLite file."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.process.commands import NAMES
from tests.process.site import ROOT

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def troubles(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("beside")
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.process.settings",
        "GYM_VAR_DIR": str(folder),
        "GYM_DATABASE_URL": f"sqlite:///{folder / 'gym.sqlite3'}",
        "HF_HUB_OFFLINE": "1",
    }
    options = {"env": env, "cwd": ROOT, "check": True, "stdout": subprocess.PIPE}
    subprocess.run([sys.executable, "manage.py", "migrate", "-v", "0"], **options)
    done = subprocess.run([sys.executable, "-m", "tests.process.beside", str(folder)], **options)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
def test_a_command_does_its_work_while_the_site_writes(troubles, name):
    assert troubles[name] == ""
