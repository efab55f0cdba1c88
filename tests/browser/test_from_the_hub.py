"""A model from the Hub, from its name in the form to the results of a run, with a worker and a local Hub."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.browser.authoring import sign_in
from tests.browser.axe import violations_in_both_themes
from tests.browser.conftest import build_demo, serving, watched_page
from tests.lmgym.models import tiny
from tests.lmgym.models.hub_server import hub_server
from tests.once_a_run import once_a_run

REPO = "openai-community/gpt2"
BYTES_PER_SECOND = 500
"""Slow enough that the download is still in progress when it is cancelled."""


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """A Hub with one model in several weight files, under a current name and an old short one."""
    tokenizer = tiny.train("byte-bpe")
    folder = tmp_path_factory.mktemp("hub") / "gpt2"
    tiny.fast(tokenizer).save_pretrained(folder)
    tiny.gpt2(tokenizer.get_vocab_size()).save_pretrained(folder, max_shard_size="20kB")
    with hub_server() as server:
        server.add(REPO, folder)
        server.old_names = {"gpt2": REPO}
        yield server


@pytest.fixture
def staff(browser, hub, tmp_path):
    """A page on which a staff member is signed in to a site that uses this Hub."""
    shutil.copytree(once_a_run("demo-site", build_demo), tmp_path / "site")
    cache = str(tmp_path / "cache")
    settings = {"HF_ENDPOINT": hub.url, "HF_HUB_CACHE": cache, "HF_HUB_OFFLINE": "0"}
    with serving(tmp_path / "site", **settings) as url, watched_page(browser, url) as page:
        sign_in(page, "admin", "demo-admin")
        yield page


def register(page, name: str) -> None:
    page.goto("/models/register/")
    page.get_by_label("Source").select_option("hub")
    page.locator("[name=repo]").fill("gpt2")
    page.locator("[name=name]").fill(name)
    page.locator("[name=slug]").fill(name)
    page.get_by_role("button", name="Register").click()
    assert page.get_by_text(f"{REPO} entered as gpt2").is_visible()
    page.get_by_role("button", name=re.compile("Register and download")).click()


def test_a_short_name_becomes_a_model_and_a_run(hub, staff):
    page = staff
    hub.fail("/repos/", method="GET", times=99, bytes_per_second=BYTES_PER_SECOND)
    register(page, "small-gpt2")
    page.get_by_text("Downloading:").wait_for(timeout=60_000)
    assert violations_in_both_themes(page) == {}
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("The check is being cancelled.").wait_for()
    page.get_by_text("This model does not work.").wait_for(timeout=60_000)
    assert page.get_by_text("it was cancelled. Check the model again.").is_visible()

    hub.faults.clear()
    page.get_by_role("button", name="Check again").click()
    page.get_by_text(re.compile("^checked ")).wait_for(timeout=60_000)
    assert page.get_by_text(REPO, exact=True).is_visible()  # in its configuration
    page.goto("/suites/npi/")
    page.get_by_role("link", name="Run", exact=True).click()
    page.get_by_label(re.compile("small-gpt2")).check()
    page.get_by_role("button", name="Run selected models").click()
    page.wait_for_url("**/runs/*/")
    page.locator("svg[role=img]").first.wait_for(timeout=60_000)
