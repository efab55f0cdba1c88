"""The server is stopped and restarted while a user types: nothing is lost, even after a reload."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.authoring import begin, sign_in, stored
from tests.browser.conftest import ROOT, fetch, free_port, wait_for
from tests.browser.grid_fake import Sheet
from tests.process.site import empty_site

FIRST = ["The woman | plays | all day", "The woman | play | all day"]
PASSWORD = "typed-while-away"
CREATE = (
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


@pytest.fixture(scope="module")
def own_site(tmp_path_factory) -> Iterator[OwnSite]:
    site = OwnSite(tmp_path_factory.mktemp("own_site"))
    try:
        site.manage("shell", "-c", CREATE)
        yield site
    finally:
        site.stop()


@pytest.fixture
def writing(browser, own_site) -> Iterator[Sheet]:
    """An open editor on `own_site`. Questions about leaving with unsaved edits are confirmed."""
    if own_site.process is None:
        own_site.start()
    context = browser.new_context(base_url=own_site.url, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.on("dialog", lambda dialog: dialog.accept())
    sign_in(page, "writer", PASSWORD)
    sheet = begin(page, ["match", "mismatch"], ["Subject", "Verb", "Rest"], FIRST)
    yield sheet
    context.close()


def write(sheet: Sheet, row: int, column: int, text: str) -> None:
    sheet.click(row, column)
    sheet.type(text)
    sheet.press("Enter")


def contents(sheet: Sheet) -> list[list[str]]:
    return [row["contents"] for row in stored(sheet)["rows"]]


def test_typing_goes_on_while_the_server_is_away(writing, own_site):
    write(writing, 0, 1, "sings")
    stored(writing)
    writing.click(1, 1)
    writing.type("si")
    own_site.stop()
    writing.type("ng")
    writing.press("Enter")
    writing.saved("offline")
    assert "Offline, kept locally" in writing.page.locator("[data-save-status]").inner_text()
    write(writing, 0, 2, "at night")
    writing.click(-1, 1)
    writing.type("Main verb")
    writing.press("Enter")
    writing.press("Control+z", "Control+y")
    own_site.start()
    # it recovers without user action
    writing.page.wait_for_selector('[data-save-status][data-state="saved"]', timeout=30_000)
    assert contents(writing) == [["The woman", "sings", "at night"], ["The woman", "sing", "all day"]]
    assert stored(writing)["regions"] == ["Subject", "Main verb", "Rest"]


def test_a_reload_while_the_server_is_away_loses_nothing(writing, own_site):
    own_site.stop()
    write(writing, 0, 1, "sings")
    write(writing, 1, 0, "The girl")
    writing.saved("offline")
    with pytest.raises(Exception, match="ERR_CONNECTION_REFUSED"):
        writing.page.reload()
    own_site.start()
    writing.open()
    assert [writing.text(0, 1), writing.text(1, 0)] == ["sings", "The girl"]
    assert contents(writing) == [["The woman", "sings", "all day"], ["The girl", "play", "all day"]]
    left = "Object.keys(localStorage).filter((key) => key.startsWith('lmgym-draft'))"
    assert writing.page.evaluate(left) == []
