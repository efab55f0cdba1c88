"""The server is stopped and restarted while a user types: nothing is lost, even after a reload."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.authoring import begin, sign_in, stored
from tests.browser.grid_fake import Sheet
from tests.browser.own_site import PASSWORD

FIRST = ["The woman | plays | all day", "The woman | play | all day"]


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
