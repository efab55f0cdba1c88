"""The tutorials for human data, LM Challenge, ProPara and agent tests on the command line and through the API: every
block in docs/ is executed, in order."""

from __future__ import annotations

import socket

import pytest

from tests.process.live import LiveSite
from tests.process.site import ROOT
from tests.tutorials import NAMES, Terminal, Tutorial, walk

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    site = LiveSite(
        tmp_path_factory.mktemp("live"),
        prepare="prepare_tutorials",
        GYM_API_REQUESTS_PER_MINUTE="0",
        GYM_NET_ALLOW="public,127.0.0.1",
    )
    yield site
    site.close()


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@pytest.mark.parametrize("section", ["On the command line", "Through the API"])
@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_does_what_it_says(site, tmp_path, name, section):
    tutorial = Tutorial(name, free_port())
    tutorial.save_files(tmp_path)
    token = site.things["tokens"]["alice"]
    terminal = Terminal(tmp_path, LM_GYM_SITE=site.url, LM_GYM_TOKEN=token)
    try:
        walk(tutorial, "The files", terminal)
        walk(tutorial, section, terminal)
    finally:
        terminal.close()


@pytest.mark.parametrize("section", ["On the command line", "A figure"])
def test_the_tutorial_of_human_data_does_what_it_says(tmp_path, section):
    tutorial = Tutorial("people")
    tutorial.save_files(tmp_path)
    terminal = Terminal(tmp_path, DEMO=str(ROOT / "gym" / "demo" / "data"))
    try:
        walk(tutorial, "The files", terminal)
        walk(tutorial, section, terminal)
    finally:
        terminal.close()


def test_the_tutorial_of_checkpoints_does_what_it_says(site, tmp_path):
    tutorial = Tutorial("checkpoints")
    tutorial.save_files(tmp_path)
    settings = {"DEMO": str(ROOT / "gym" / "demo" / "data"), "LM_GYM_SITE": site.url}
    terminal = Terminal(tmp_path, **settings, LM_GYM_TOKEN=site.things["tokens"]["alice"])
    try:
        for section in ("The files", "On the command line", "In continuous integration", "On a site"):
            walk(tutorial, section, terminal)
    finally:
        terminal.close()


def test_the_first_week_of_a_site_does_what_it_says(site, tmp_path):
    tutorial = Tutorial("administrator")
    settings = {"DEMO": str(ROOT / "gym" / "demo" / "data"), "MODELS": f"{site.env['GYM_VAR_DIR']}/models"}
    token = site.things["tokens"]["admin"]
    terminal = Terminal(tmp_path, **settings, LM_GYM_SITE=site.url, LM_GYM_TOKEN=token)
    try:
        walk(tutorial, "Wednesday: a model for everyone", terminal)
        walk(tutorial, "Thursday: limits and watching", terminal)
    finally:
        terminal.close()
