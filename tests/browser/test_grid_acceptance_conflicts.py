"""Two users, and two tabs of one user, edit the same cells on the running site."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.browser.authoring import begin, exported, freeze, sign_in, stored
from tests.browser.grid_fake import Sheet

FIRST = ["The woman | plays | all day", "The woman | play | all day"]


def write(sheet: Sheet, row: int, column: int, text: str) -> None:
    sheet.click(row, column)
    sheet.type(text)
    sheet.press("Enter")


@contextmanager
def saving_held(page: Any) -> Iterator[None]:
    """Hold back all save requests of a page until the block ends."""
    waiting: list[Any] = []
    page.route("**/cells/", lambda route: waiting.append(route))
    yield
    for route in waiting:  # before unroute, which would release the waiting requests
        route.continue_()
    page.unroute("**/cells/")


@pytest.fixture
def person(browser, site):
    """`person(name)` opens a page for a signed-in user, who confirms leaving with unsaved edits."""
    contexts, errors = [], []

    def make(name: str):
        context = browser.new_context(base_url=site, viewport={"width": 1280, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: dialog.accept())
        sign_in(page, name, f"demo-{name}")
        return page

    yield make
    for context in contexts:
        context.close()
    assert not errors, errors


@pytest.fixture
def mine(person):
    """alice's open editor."""
    return begin(person("alice"), ["match", "mismatch"], ["Subject", "Verb", "Rest"], FIRST)


@pytest.fixture
def theirs(mine, person):
    """The same suite, opened by another user, who may edit it as staff."""
    sheet = Sheet(person("admin"), None, mine.url, [])
    sheet.open()
    return sheet


def contents(sheet: Sheet) -> list[list[str]]:
    return [row["contents"] for row in stored(sheet)["rows"]]


def test_two_people_meet_and_each_value_can_be_chosen(mine, theirs):
    write(theirs, 0, 1, "strums")
    write(theirs, 1, 1, "strum")
    write(theirs, 1, 2, "at night")
    stored(theirs)
    with saving_held(mine.page):
        write(mine, 0, 1, "sings")
        write(mine, 1, 1, "sing")
        write(mine, 0, 0, "The girl")
    dialog = mine.page.get_by_role("dialog")
    dialog.wait_for()
    rows = dialog.locator("tbody tr")
    rows.nth(1).wait_for()
    shown = [[part.strip() for part in row.inner_text().split("\t")] for row in rows.all()]
    assert shown == [
        ["Item 1, match, Verb", "plays", "strums", "sings"],
        ["Item 1, mismatch, Verb", "play", "strum", "sing"],
    ]
    assert "admin" in dialog.inner_text()
    rows.nth(0).get_by_label("sings").check()
    rows.nth(1).get_by_label("strum", exact=True).check()
    dialog.get_by_role("button", name="Apply choices").click()
    expected = [["The girl", "sings", "all day"], ["The woman", "strum", "at night"]]
    assert contents(mine) == expected
    assert [[mine.text(row, column) for column in range(3)] for row in range(2)] == expected
    # The dialog's result is one undo step: undoing it restores the other user's text.
    mine.press("Control+z")
    assert contents(mine)[0][1] == "strums"
    mine.press("Control+y")
    stored(mine)
    theirs.open()
    assert contents(theirs) == expected
    freeze(mine)
    regions = exported(mine)["items"][0]["conditions"][0]["regions"]
    assert [one["content"] for one in regions] == expected[0]


def test_two_tabs_of_one_person_meet(mine):
    page = mine.page.context.new_page()
    other = Sheet(page, None, mine.url, [])
    other.open()
    write(other, 0, 1, "strums")
    write(other, 1, 1, "strum")
    stored(other)
    with saving_held(mine.page):
        write(mine, 0, 1, "sings")
        write(mine, 1, 1, "sing")
    dialog = mine.page.get_by_role("dialog")
    dialog.locator("tbody tr").nth(1).wait_for()
    assert "In the other tab" in dialog.inner_text()
    dialog.get_by_role("button", name="All theirs").click()
    dialog.get_by_role("button", name="Apply choices").click()
    assert [row[1] for row in contents(mine)] == ["strums", "strum"]
