"""The sheet on the running site: the typed text is stored, scored and frozen."""

from __future__ import annotations

import pytest

from tests.browser.authoring import stored, text_of
from tests.browser.grid_fake import Sheet
from tests.lmgym.suites.documents import suite_bytes


@pytest.fixture
def on_site(signed_in, tmp_path):
    """`on_site(name)` imports a suite and opens its editor."""

    def make(name: str) -> Sheet:
        path = tmp_path / f"{name}.json"
        path.write_bytes(suite_bytes(name=name, items=5))
        signed_in.goto("/suites/import/")
        signed_in.locator("#id_file").set_input_files(path)
        signed_in.get_by_role("button", name="Import").click()
        signed_in.wait_for_url(f"**/suites/{name}/")
        sheet = Sheet(signed_in, None, f"/suites/{name}/editor/", signed_in.complaints)
        sheet.open()
        return sheet

    return make


def test_texts_names_and_places_are_stored(on_site):
    sheet = on_site("grid_texts")
    before = stored(sheet)
    sheet.click(0, 1)
    sheet.type("dances")
    sheet.press("Enter")
    sheet.click(1, -1)
    sheet.type("wrong number")
    sheet.press("Enter")
    sheet.click(0, 0)
    sheet.press("Alt+Shift+ArrowRight")
    now = stored(sheet)
    assert now["rows"][0]["contents"][0] == "dances"
    assert now["conditions"][1] == "wrong number"
    assert now["regions"][:2] == before["regions"][:2][::-1]
    assert "%wrong number%" in now["predictions"][0]["formula"]
    sheet.page.get_by_text("in “wrong number” than in match").first.wait_for()
    sheet.press("Control+z", "Control+z", "Control+z")
    after = stored(sheet)
    assert text_of(after) == text_of(before)
    sheet.open()
    assert stored(sheet)["rows"] == before["rows"]


def test_undo_goes_on_after_a_reload(on_site):
    sheet = on_site("grid_earlier")
    before = stored(sheet)
    for row, text in enumerate(("dances", "walks")):
        sheet.click(row, 1)
        sheet.type(text)
        sheet.press("Enter")
    changed = stored(sheet)
    sheet.open()
    sheet.click(3, 1)
    sheet.type("naps")
    sheet.press("Enter", "Control+z", "Control+z")
    sheet.page.locator("[data-message]", has_text="undone: changed item 1, mismatch, region 2").wait_for()
    sheet.press("Control+z")
    sheet.page.locator("[data-message]", has_text="undone: changed item 1, match, region 2").wait_for()
    assert stored(sheet)["rows"] == before["rows"]
    assert sheet.page.get_by_role("button", name="Undo").is_disabled()
    sheet.press("Control+y", "Control+y")
    sheet.page.locator("[data-message]", has_text="redone: changed item 1, mismatch").wait_for()
    assert stored(sheet)["rows"] == changed["rows"]
    sheet.page.get_by_role("link", name="History").click()
    sheet.page.get_by_text("restored the state after change").first.wait_for()


def test_a_pasted_block_grows_the_suite(on_site):
    sheet = on_site("grid_paste")
    sheet.click(0, 0)
    sheet.press("Control+End", "Home")
    sheet.paste("A\tb\nC\td\nE\tf\n")
    now = stored(sheet)
    assert len(now["items"]) == 6
    assert [row["contents"][0] for row in now["rows"]][-3:] == ["A", "C", "E"]


def test_somebody_inserts_a_region_while_a_text_is_typed(on_site):
    one = on_site("grid_carry")
    page = one.page.context.new_page()
    two = Sheet(page, None, one.url, [])
    two.open()
    two.click(1, 1)
    two.type("sw")
    one.click(0, 0)
    one.page.locator("[data-grid-menu=region] summary").click()
    one.page.get_by_role("button", name="Add to the left").click()
    one.press("Escape")
    stored(one)
    two.type("ims")
    two.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("swims").wait_for()
    dialog.get_by_role("button", name="Apply choices").click()
    now = stored(two)
    assert now["rows"][1]["contents"][2] == "swims"
    assert now["rows"][1]["contents"][0] == ""


def test_a_model_reacts_and_the_suite_is_frozen(on_site):
    sheet = on_site("grid_preview")
    page = sheet.page
    page.get_by_label("Model of the preview").select_option(label="Demo GPT-2")
    page.get_by_label("Live preview").check()
    page.get_by_text("up to date").wait_for(timeout=60_000)
    before = sheet.cell(0, 1).locator(".bits").inner_text()
    sheet.click(0, 1)
    sheet.type("happy")
    sheet.press("Enter")
    page.wait_for_timeout(300)
    page.get_by_text("up to date").wait_for(timeout=20_000)
    assert sheet.cell(0, 1).locator(".bits").inner_text() != before
    assert page.locator(".live-plot").is_visible()
    page.get_by_role("link", name="Freeze").click()
    page.wait_for_url("**/freeze/")
