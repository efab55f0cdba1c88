"""The tutorials for LM Challenge, ProPara, agent tests and teachers in a browser: the numbered steps in docs/ are
carried out by their labels."""

from __future__ import annotations

import re
import time
import urllib.request
from pathlib import Path

import pytest

from tests.browser.conftest import free_port, watched_page
from tests.process.live import LiveSite
from tests.tutorials import NAMES, Terminal, Tutorial, deeds, require_output, walk

SECONDS = 60


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    site = LiveSite(
        tmp_path_factory.mktemp("live"), prepare="prepare_tutorials", GYM_NET_ALLOW="public,127.0.0.1"
    )
    yield site
    site.close()


@pytest.fixture
def reader(browser, live):
    with watched_page(browser, live.url) as page:
        sign_in(page, "alice", "demo-alice")
        yield page


def sign_in(page, name: str, password: str) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.locator("main").get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/")
    page.set_default_timeout(15_000)


class Reader:
    """A reader who carries out the steps of a tutorial."""

    def __init__(self, page, terminal: Terminal | None, folder: Path) -> None:
        self.page, self.terminal, self.folder = page, terminal, folder

    def do(self, deed: dict[str, str]) -> None:
        match deed:
            case {"press": name}:
                self.press(name)
            case {"field": name, "text": text}:
                self.labelled(name).fill(text)
            case {"choice": name, "chosen": chosen}:
                self.choose(name, re.findall(r"`([^`]+)`", chosen))
            case {"tick": name}:
                self.page.get_by_label(re.compile(rf"^\s*{re.escape(name)}")).first.check()
            case {"until": words}:
                self.reload_until(words)
            case {"says": words}:
                self.page.get_by_text(words).locator("visible=true").first.wait_for()
            case {"block": block}:
                self.terminal.type(block)

    def follow(self, steps: list[str]) -> None:
        for step in steps:
            done = list(deeds(step))
            assert done, f"this step does nothing: {step}"
            for deed in done:
                try:
                    self.do(deed)
                except Exception as error:
                    shown = f"{self.page.url}\n{self.page.locator('main').inner_text()}"
                    raise AssertionError(f"{deed} of: {step}\n{shown}") from error

    def press(self, name: str) -> None:
        called = re.compile(rf"^\s*{re.escape(name)}\s*\d*\s*$")  # links to processes end with a number
        button, link = (self.page.get_by_role(role, name=called) for role in ("button", "link"))
        button.or_(link).or_(self.page.locator("summary", has_text=called)).first.click()
        # After a script has sent the form: wait for the response or the next page.
        self.page.locator("form[hx-encoding] button:disabled").first.wait_for(state="detached")

    def labelled(self, name: str):
        """Return the field with this label, which may end with the asterisk of required fields, or with a colon."""
        return self.page.get_by_label(re.compile(rf"^\s*{re.escape(name)}\s*[*:]?\s*$")).first

    def choose(self, name: str, chosen: list[str]) -> None:
        control = self.labelled(name)
        if control.get_attribute("type") == "file":
            control.set_input_files([self.folder / one for one in chosen])
        else:
            control.select_option(label=chosen[0])

    def reload_until(self, words: str) -> None:
        end = time.monotonic() + SECONDS
        while not self.page.get_by_text(words).count():
            assert time.monotonic() < end, f"{words} is not there: {self.page.locator('main').inner_text()}"
            self.page.wait_for_timeout(300)
            self.page.reload()


@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_does_in_a_browser_what_it_says(live, reader, tmp_path, name):
    tutorial = Tutorial(name, str(free_port()))
    tutorial.save_files(tmp_path)
    terminal = Terminal(tmp_path, LM_GYM_SITE=live.url)
    try:
        walk(tutorial, "The files", terminal)
        Reader(reader, terminal, tmp_path).follow(tutorial.steps("In the browser"))
    finally:
        terminal.close()


@pytest.mark.parametrize("day", ["Tuesday: people", "Thursday: limits and watching"])
def test_the_first_week_of_a_site(browser, live, tmp_path, day):
    with watched_page(browser, live.url) as page:
        sign_in(page, "admin", "demo-admin")
        Reader(page, None, tmp_path).follow(Tutorial("administrator").steps(day))


@pytest.mark.long
def test_a_class_on_one_laptop(browser, tmp_path):
    """The teacher and a student on a site that the tutorial's commands create and start."""
    tutorial = Tutorial("teacher")
    tutorial.save_files(tmp_path)
    terminal = Terminal(tmp_path, GYM_DEMO_TRAINED_MODEL="0")
    url = f"http://127.0.0.1:{(port := free_port())}"
    try:
        said = walk(tutorial, "Before the lesson", terminal)
        password = re.search(r"Account admin, password (\S+)", said)[1]
        (_, command), (_, printed) = tutorial.blocks("Start the site")
        terminal.type(f"{command.strip()} --port {port} --processes 1 >serve.log 2>&1 &")
        until_it_serves(url)
        require_output(printed, (tmp_path / "serve.log").read_text().replace(str(port), "8000"))
        with watched_page(browser, url) as teacher, watched_page(browser, url) as student:
            sign_in(teacher, "admin", password)
            student.goto("/")
            teaching, learning = (Reader(page, terminal, tmp_path) for page in (teacher, student))
            teaching.follow(tutorial.steps("The assignment"))
            learning.follow(tutorial.steps("What each student does"))
            for section in ("Who is done", "Read the results together", "Take the data home"):
                teaching.follow(tutorial.steps(section))
        walk(tutorial, "Take the data home", terminal)
    finally:
        terminal.close()


def until_it_serves(url: str) -> None:
    end = time.monotonic() + SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=5):
                return
        except OSError:
            assert time.monotonic() < end, "the site does not respond"
            time.sleep(0.2)
