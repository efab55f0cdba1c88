"""A site without demo data that a test can stop and start again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.browser.conftest import ROOT, fetch, free_port, wait_for
from tests.process.site import empty_site

PASSWORD = "typed-while-away"
CREATE_WRITER = (
    "from django.contrib.auth import get_user_model as model;"
    f"model().objects.create_user('writer', password='{PASSWORD}')"
)


class OwnSite:
    """A site without demo data that can be stopped and restarted at the same address."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(empty_site(), folder, dirs_exist_ok=True)
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.env = os.environ | {
            "GYM_VAR_DIR": str(folder),
            "GYM_DATABASE_URL": "",
            "GYM_BROKER_URL": "",
            "DJANGO_SETTINGS_MODULE": "gym.settings",
        }
        self.process: subprocess.Popen | None = None
        self.manage("shell", "-c", CREATE_WRITER)

    def manage(self, *words: str) -> None:
        subprocess.run([sys.executable, "manage.py", *words], cwd=ROOT, env=self.env, check=True, timeout=120)

    def start(self) -> None:
        log = self.folder / "web.log"
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "web", "--processes", "1", "--port", str(self.port)],
                cwd=ROOT,
                env=self.env,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        wait_for(self.answers, 90, log)

    def answers(self) -> bool:
        try:
            return bool(fetch(f"{self.url}/"))
        except OSError:
            return False

    def stop(self) -> None:
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(timeout=60)
            self.process = None
