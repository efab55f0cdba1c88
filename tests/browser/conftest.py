"""A real site in its own folder (web process, worker, demo data) and a real browser."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.browser.grid_fake import make_sheet, sheet  # noqa: F401
from tests.once_a_run import once_a_run

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "chromium": ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"),
    "firefox": ("firefox-esr", "firefox"),
}
PACKAGES = {"chromium": "chromium", "firefox": "firefox-esr"}
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


LOGS: dict[str, Path] = {}
"""Log file of each site that tests started, by address."""


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/browser" in str(item.fspath):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser(pytestconfig: pytest.Config) -> Iterator[object]:
    """Chromium, or Firefox with --browser firefox."""
    name = pytestconfig.getoption("browser")
    path = next((found for program in PROGRAMS[name] if (found := shutil.which(program))), None)
    if path is None:
        pytest.skip(f"no {name} here: on Debian, apt-get install {PACKAGES[name]}")
    from playwright.sync_api import sync_playwright

    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # playwright runs a loop in this thread
    with sync_playwright() as playwright:
        if name == "firefox":  # this channel drives a Firefox that Playwright did not build
            browser = playwright.firefox.launch(executable_path=path, channel="moz-firefox")
        else:
            browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a running site whose demo runs are finished."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(once_a_run("demo-site", build_demo), folder, dirs_exist_ok=True)
    with serving(folder) as url:
        yield url


@pytest.fixture(scope="session")
def own_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A site without demo data, which a test may stop and must start if it is stopped."""
    from tests.browser.own_site import OwnSite

    site = OwnSite(tmp_path_factory.mktemp("own_site"))
    yield site
    site.stop()


def build_demo(folder: Path) -> None:
    with serving(folder):
        pass


@contextmanager
def serving(folder: Path, **settings: str) -> Iterator[str]:
    """Run `manage.py serve` on the files in `folder`, wait for the demo runs, and yield the address.
    `settings`: environment variables."""
    port = free_port()
    env = os.environ | {
        "GYM_VAR_DIR": str(folder),
        "GYM_DATABASE_URL": "",
        "GYM_BROKER_URL": "",
        "GYM_DEMO_TRAINED_MODEL": "0",
    }
    env |= settings | {"DJANGO_SETTINGS_MODULE": "gym.settings"}
    log = (folder / "serve.log").open("wb")
    LOGS[f"http://127.0.0.1:{port}"] = folder / "serve.log"
    process = subprocess.Popen(
        [sys.executable, "manage.py", "serve", "--demo", "--port", str(port), "--processes", "1"],
        cwd=ROOT,
        env=env,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: demo_is_done(url), 300, folder / "serve.log")
        yield url
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)
        log.close()


def demo_is_done(url: str) -> bool:
    try:
        runs = json.loads(fetch(f"{url}/api/v1/runs/"))["results"]
    except (urllib.error.URLError, OSError):
        return False
    return bool(runs) and all(run["state"] == "done" for run in runs)


def wait_for(happened, seconds: float, log: Path) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, log.read_text()[-4000:]
        time.sleep(0.3)


@contextmanager
def watched_page(browser, site: str, **options: Any) -> Iterator[Any]:
    """Open a page that fails the test if the browser reports an error, a blocked script or style, or a
    dialog."""
    context = browser.new_context(base_url=site, viewport={"width": 1280, "height": 900}, **options)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.complaints = complaints
    try:
        yield page
    finally:
        context.close()
    assert not complaints, "\n".join([*complaints, last_traceback(site)])


def last_traceback(site: str) -> str:
    """Return the last traceback in the log of a site that these tests started, else an empty string."""
    said = LOGS[site].read_text(encoding="utf-8") if site in LOGS else ""
    return said[said.rindex("Traceback") :][:4000] if "Traceback" in said else ""


@pytest.fixture
def page(browser, site):
    with watched_page(browser, site) as page:
        yield page


@pytest.fixture
def signed_in(page):
    """A page on which alice is signed in."""
    page.goto("/accounts/login/")
    page.get_by_label("Username").fill("alice")
    page.get_by_label("Password").fill("demo-alice")
    page.locator("main").get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/")
    return page
