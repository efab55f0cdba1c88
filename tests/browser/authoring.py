"""Steps of an author on the running site, with real keys and the browser's own clipboard."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlparse

from tests.browser.grid_fake import LEAVE_TAB, Sheet

SERIAL = itertools.count(1)

WRITE = """([text, html]) => {
  const parts = {"text/plain": new Blob([text], {type: "text/plain"})};
  if (html) parts["text/html"] = new Blob([html], {type: "text/html"});
  return navigator.clipboard.write([new ClipboardItem(parts)]);
}"""


def sign_in(page: Any, name: str, password: str) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(password)
    page.locator("main").get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/")


def begin(
    page: Any, conditions: Sequence[str], regions: Sequence[str], first: Sequence[str] = (), name: str = ""
) -> Sheet:
    """Create a suite with the guided start, using the keyboard alone, and return its open editor."""
    page.goto("/suites/new/")
    keys = page.keyboard
    page.locator("#id_name").focus()
    keys.type(name or f"Acceptance {next(SERIAL)}")
    for field, lines in (("conditions", conditions), ("regions", regions), ("first", first)):
        page.locator(f"#id_{field}").focus()
        for place, line in enumerate(lines):
            if place:
                keys.press("Enter")
            keys.type(line)
    page.locator("main form .btn-primary").focus()
    keys.press("Enter")
    return editor_of(page)


def editor_of(page: Any) -> Sheet:
    """Wait for the editor to load, and return it."""
    page.wait_for_url("**/editor/")
    page.wait_for_selector("[data-ready=yes]")
    return Sheet(page, None, page.url, getattr(page, "complaints", []))


def put_on_clipboard(page: Any, text: str, html: str = "") -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate(WRITE, [text, html])


def paste(page: Any, text: str, html: str = "") -> None:
    """Paste with Ctrl+V, so that the browser fires the event with the content of its clipboard."""
    put_on_clipboard(page, text, html)
    page.keyboard.press("Control+v")


def stored(sheet: Sheet) -> dict[str, Any]:
    """Wait until everything is saved, and return the draft as stored on the server."""
    sheet.page.wait_for_timeout(100)
    sheet.page.evaluate(LEAVE_TAB)
    sheet.saved()
    address = (
        f"{urlparse(sheet.url).path.replace('/suites/', '/api/v1/suites/').removesuffix('editor/')}draft/"
    )
    draft = json.loads(sheet.page.request.get(address).text())
    cells = f"{address}cells/?limit=500"
    rows: list[Any] = []
    while cells:
        page = json.loads(sheet.page.request.get(cells).text())
        cells, rows = page["next"], rows + page["results"]
    return {**draft, "rows": rows}


def text_of(draft: dict[str, Any]) -> dict[str, Any]:
    """Return a draft without its edit counters."""
    return {key: value for key, value in draft.items() if key not in {"version", "structure"}}


def add_prediction(page: Any, formula: str) -> None:
    page.get_by_role("button", name="Add", exact=True).click()
    page.keyboard.type(formula)
    page.get_by_text("In words:").last.wait_for()


def freeze(sheet: Sheet, note: str = "") -> None:
    """Freeze the draft: from the editor through the freeze page to the frozen revision."""
    page = sheet.page
    page.get_by_role("link", name="Freeze").click()
    page.wait_for_url("**/freeze/")
    if note:
        page.get_by_role("textbox", name="What changed").fill(note)
    page.locator("main").get_by_role("button", name="Freeze").click()
    page.wait_for_url("**/r*/")


def exported(sheet: Sheet, number: int = 1) -> dict[str, Any]:
    address = sheet.url.replace("/editor/", f"/r{number}/json/")
    return json.loads(sheet.page.request.get(address).text())
