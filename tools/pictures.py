"""Take the pictures of README.md from a demo site, in light and dark mode: `make pictures`.

Writes docs/pictures/NAME-THEME.webp. With --site, uses a running demo site instead of starting one.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SECONDS = 300
"""Time in which the demo's runs have to end; they take one to two minutes on two cores."""
MAX_BYTES = 150_000
QUALITY = 80
WIDTH = 1280
EDITOR: Any = {"width": 1440, "height": 860}


@contextmanager
def demo_site() -> Iterator[str]:
    """Start a site with the demo in a temporary folder, wait for its results, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "log", "wb") as log:
        env = os.environ | {"GYM_VAR_DIR": folder, "GYM_DEMO_TRAINED_MODEL": "0"}
        command = [sys.executable, "manage.py", "serve", "--demo", "--port", str(port)]
        server = subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for_results(url := f"http://127.0.0.1:{port}")
            yield url
        finally:
            server.terminate()
            server.wait()


def wait_for_results(url: str) -> None:
    end = time.monotonic() + SECONDS
    states = {"none"}
    while states != {"done"}:
        if time.monotonic() > end:
            raise TimeoutError(f"The demo's runs did not end within {SECONDS} s: {', '.join(sorted(states))}")
        time.sleep(2)
        try:
            with urlopen(f"{url}/api/v1/runs/?limit=100", timeout=20) as response:
                states = {run["state"] for run in json.load(response)["results"]} or {"none"}
        except URLError:  # not started yet
            states = {"no response"}


def sign_in(page: Page) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Username").fill("alice")
    page.get_by_label("Password").fill("demo-alice")
    page.locator("main").get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/")


def draft(page: Page) -> str:
    """Duplicate a demo suite, and return the address of the copy's editor."""
    page.goto("/suites/agreement_pp/copy/")
    page.get_by_label("Name").fill("Agreement across a phrase")
    page.locator("main").get_by_role("button", name="Duplicate").click()
    page.wait_for_url("**/editor/")
    return page.url


def show_results(page: Page) -> None:
    """Show a suite from its title to the end of its results."""
    page.set_viewport_size({"width": WIDTH, "height": 900})
    page.goto("/suites/agreement_pp/")
    table = page.locator("table", has_text="Demo 5-gram").first
    table.wait_for()
    box = table.bounding_box()
    assert box
    page.set_viewport_size({"width": WIDTH, "height": round(box["y"] + box["height"]) + 8})


def show_editor(page: Page, address: str) -> None:
    """Show the editor with the bits of each token, as a model gives them while one types."""
    page.set_viewport_size(EDITOR)
    page.goto(address)
    page.get_by_label("Live preview").check()
    page.get_by_text("24 of 24 items hold").wait_for()
    page.get_by_text("up to date").wait_for()
    page.get_by_role("gridcell", name="baker").first.click()
    page.keyboard.press("End")  # scrolls to the region that the prediction compares


def take(page: Page, name: str, theme: str) -> None:
    """Save the visible part of the page as WebP."""
    session = page.context.new_cdp_session(page)
    shot = session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    data = base64.b64decode(shot["data"])
    if len(data) > MAX_BYTES:
        raise ValueError(f"{name}-{theme}.webp has {len(data):,} bytes; at most {MAX_BYTES:,} are committed.")
    (FOLDER / f"{name}-{theme}.webp").write_bytes(data)


def take_all(url: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    path = next((found for program in BROWSERS if (found := shutil.which(program))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        address = ""
        for theme in THEMES:
            context = browser.new_context(base_url=url, color_scheme=theme)
            page = context.new_page()
            sign_in(page)
            address = address or draft(page)
            show_editor(page, address)
            take(page, "editor", theme)
            show_results(page)
            take(page, "results", theme)
            context.close()
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", metavar="URL", help="a running demo site with results")
    if site := parser.parse_args().site:
        take_all(site)
    else:
        with demo_site() as url:
            take_all(url)


if __name__ == "__main__":
    main()
