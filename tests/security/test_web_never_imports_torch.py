"""The web process never imports torch, which costs a quarter of a gigabyte and seconds of start-up time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys
from django.core.management import call_command
import gym.wsgi
call_command("migrate", verbosity=0)
from gym.demo.loader import load_demo
list(load_demo(queue_runs=False))
from django.test import Client
from gym.accounts.models import User
from suites.models import Suite
from gym.runs.work.services import queue_run
from models_registry.models import RegisteredModel
from gym.runs.work.actors import suite_run  # the handler's module is known to the web process too
RegisteredModel.objects.filter(backend="uniform").update(status="ready")
staff = User.objects.create_user("staff", password="x", is_staff=True, is_superuser=True)
suite = Suite.objects.first()
run = queue_run(suite.latest_frozen, RegisteredModel.objects.get(backend="uniform"), actor=staff)
from gym.jobs.testing import run_pending
run_pending()
client = Client(HTTP_HOST="127.0.0.1")
client.force_login(staff)
client.post(f"/suites/{suite.slug}/editor/")  # opens a draft
for address in ["/", "/about/", "/queue/", "/suites/", "/suites/import/", f"/suites/{suite.slug}/", "/suites/new/",
                f"/suites/{suite.slug}/editor/", f"/api/v1/suites/{suite.slug}/draft/cells/",
                f"/suites/{suite.slug}/freeze/", f"/suites/{suite.slug}/copy/", "/models/",
                "/models/register/", "/models/demo-gpt2/", "/leaderboard/", "/runs/", f"/runs/{run.key}/",
                f"/runs/{run.key}/items/1/", f"/runs/{run.key}/download/json/", "/api/v1/runs/", "/admin/"]:
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
heavy = sorted(name for name in sys.modules if name.split(".")[0] in {"torch", "transformers"})
assert not heavy, heavy[:5]
"""


def test_no_page_and_no_start_imports_torch(tmp_path):
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "gym.settings",
        "GYM_VAR_DIR": str(tmp_path),
        "GYM_DATABASE_URL": "",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
