"""axe finds no violations in any state of the editor, in both themes."""

from __future__ import annotations

import pytest

from tests.browser.authoring import add_prediction, begin, stored
from tests.browser.axe import violations
from tests.browser.grid_fake import Sheet

FIRST = ["The woman | plays | all day", "The woman | play |"]


def test_axe_finds_what_is_wrong(browser):
    page = browser.new_page()
    page.set_content("<html><body><img src='data:,'><p style='color: #eee; background: #fff'>pale</p>")
    assert {"image-alt", "color-contrast", "html-has-lang"} <= violations(page).keys()
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_editor_has_no_violation(signed_in, theme):
    page = signed_in
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    sheet = begin(page, ["match", "mismatch"], ["Subject", "Verb", "Rest"], FIRST)
    found = {}

    def look(state: str) -> None:
        found.update({f"{state}: {rule}": nodes for rule, nodes in violations(page).items()})

    add_prediction(page, "(2;%mismatch%) > (2;%match%)")
    stored(sheet)
    look("prediction")
    page.get_by_role("button", name="Add", exact=True).click()
    sheet.type("(9;%match%) > ")
    page.get_by_text("Column", exact=False).first.wait_for()
    look("wrong formula")
    page.get_by_role("button", name="Delete this prediction").last.click()
    sheet.click(0, 0)
    sheet.press("Shift+ArrowDown")
    look("range")
    sheet.press("F2")
    look("editing")
    sheet.press("Escape", "Shift+F10")
    look("menu at the cell")
    sheet.press("Escape")
    page.locator("[data-grid-menu=item] summary").click()
    look("menu of the toolbar")
    sheet.press("Escape")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    look("keys")
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    page.get_by_label("Model of the preview").select_option(label="Demo GPT-2")
    page.get_by_label("Live preview").check()
    page.get_by_text("up to date").wait_for(timeout=60_000)
    look("preview")
    page.get_by_label("Colours").select_option(label="Difference from match")
    look("differences")
    assert found == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_merge_dialog_has_no_violation(signed_in, theme):
    page = signed_in
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    mine = begin(page, ["match", "mismatch"], ["Subject", "Verb", "Rest"], FIRST)
    other = Sheet(page.context.new_page(), None, mine.url, [])
    other.open()
    for sheet, text in ((other, "strums"), (mine, "sings")):
        sheet.click(0, 1)
        sheet.type(text)
        sheet.press("Enter")
        if sheet is other:
            stored(other)
    page.get_by_role("dialog").get_by_text("strums").wait_for()
    assert violations(page) == {}
    page.get_by_role("button", name="All mine").click()
    page.get_by_role("button", name="Apply choices").click()
    stored(mine)
    page.complaints[:] = [text for text in page.complaints if "409" not in text]


def test_the_editor_has_no_violation_on_a_telephone(signed_in):
    signed_in.set_viewport_size({"width": 390, "height": 844})
    begin(signed_in, ["match", "mismatch"], ["Subject", "Verb", "Rest"], FIRST)
    assert violations(signed_in) == {}
