"""The sheet by keyboard: moving, editing, selecting and leaving."""

from __future__ import annotations

import pytest

from tests.browser.grid_fake import big


@pytest.fixture
def at_first(sheet):
    sheet.click(0, 0)
    return sheet


def test_it_is_a_grid_with_counts_and_one_tab_stop(at_first):
    page = at_first.page
    grid = page.get_by_role("grid")
    assert grid.get_attribute("aria-rowcount") == "9"
    assert grid.get_attribute("aria-colcount") == "5"
    assert page.locator("[role=grid] thead th[scope=col]").count() == 5
    stops = (
        "[...document.querySelector('[role=grid]').querySelectorAll('*')].filter(e => e.tabIndex >= 0).length"
    )
    assert page.evaluate(stops) == 1


def test_arrows_move_and_stop_at_the_edges(at_first):
    at_first.press("ArrowRight", "ArrowDown")
    assert at_first.active().startswith("Verb, item 1, mismatch")
    assert at_first.value() == "play"
    at_first.press("ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp")
    assert at_first.active() == "Name of region 2"
    at_first.press("ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft")
    assert at_first.active() == "Item numbers"


def test_home_end_and_the_corners(at_first):
    at_first.press("End")
    assert at_first.active().startswith("Rest, item 1")
    at_first.press("Control+End")
    assert at_first.active().startswith("Rest, item 4, mismatch")
    at_first.press("Home")
    assert at_first.active().startswith("Subject, item 4, mismatch")
    at_first.press("Control+Home")
    assert at_first.active().startswith("Subject, item 1, match")


def test_typing_replaces_enter_takes_it_and_goes_down(at_first):
    at_first.press("ArrowRight")
    at_first.type("sings")
    at_first.press("Enter")
    assert at_first.text(0, 1) == "sings"
    assert at_first.active().startswith("Verb, item 1, mismatch")
    assert at_first.settle()["rows"][0]["contents"] == ["The woman 1", "sings", "guitar"]


def test_enter_and_f2_edit_at_the_end_and_escape_takes_back(at_first):
    for key in ("Enter", "F2"):
        at_first.press("ArrowRight", key)
        at_first.type(" well")
        assert at_first.value().endswith(" well")
        at_first.press("Escape")
        assert "well" not in at_first.value()
    at_first.press("F2")
    at_first.type("ist")
    at_first.press("Tab")
    assert at_first.settle()["rows"][0]["contents"][2] == "guitarist"


def test_arrows_end_a_typed_text_but_stay_inside_an_opened_one(at_first):
    at_first.type("He")
    at_first.press("ArrowDown")
    assert at_first.active().startswith("Subject, item 1, mismatch")
    at_first.press("F2", "ArrowLeft")
    assert at_first.active().startswith("Subject, item 1, mismatch")
    at_first.press("Escape")


def test_tab_goes_through_the_texts_and_escape_lets_it_leave(at_first):
    at_first.press("Tab", "Tab", "Tab")
    assert at_first.active().startswith("Subject, item 1, mismatch")
    at_first.press("Shift+Tab")
    assert at_first.active().startswith("Rest, item 1, match")
    at_first.press("Escape", "Tab")
    assert not at_first.page.evaluate("document.activeElement.classList.contains('grid-input')")


@pytest.mark.parametrize("editing", [False, True])
def test_shift_tab_goes_back_where_a_browser_names_only_its_code(at_first, editing):
    """WebKitGTK reports the key of Shift+Tab as "Unidentified"."""
    at_first.press("Tab")
    if editing:
        at_first.type("sings")
    stopped = at_first.page.evaluate(
        """() => !document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {
            key: "Unidentified", code: "Tab", shiftKey: true, bubbles: true, cancelable: true }))"""
    )
    assert stopped
    assert at_first.active().startswith("Subject, item 1, match")
    assert at_first.text(0, 1) == ("sings" if editing else "plays")


def test_tab_leaves_behind_the_last_cell(at_first):
    at_first.press("Control+End", "Tab")
    assert not at_first.page.evaluate("document.activeElement.classList.contains('grid-input')")


def test_shift_chooses_and_delete_empties_in_one_step(at_first):
    at_first.press("Shift+ArrowRight", "Shift+ArrowDown")
    assert at_first.page.locator("[role=grid] td[aria-selected=true]").count() == 4
    at_first.press("Delete")
    assert at_first.said() == "cleared 4 cells"
    assert at_first.text(1, 1) == "∅"
    assert at_first.settle()["rows"][1]["contents"] == ["", "", "guitar"]
    assert len(at_first.suite.edits) == 1
    at_first.press("Control+z")
    assert at_first.settle()["rows"][1]["contents"] == ["The woman 1", "play", "guitar"]


def test_fill_down_copies_the_first_row_of_the_selection(at_first):
    at_first.press("ArrowRight", "Shift+ArrowDown", "Shift+ArrowDown", "Control+d")
    assert [row["contents"][1] for row in at_first.settle()["rows"]][:4] == [
        "plays",
        "plays",
        "plays",
        "play",
    ]


def test_select_all_a_row_and_a_region(at_first):
    chosen = at_first.page.locator("[role=grid] td.is-selected")
    at_first.press("Control+a")
    assert chosen.count() == 24
    at_first.press("ArrowRight", "Control+Space")
    assert chosen.count() == 8
    at_first.press("ArrowRight", "Shift+Space")
    assert chosen.count() == 3


@pytest.mark.chromium_only  # only its debugging protocol can compose text
def test_a_composition_is_left_alone(at_first):
    page = at_first.page
    client = page.context.new_cdp_session(page)
    client.send("Input.imeSetComposition", {"text": "に", "selectionStart": 1, "selectionEnd": 1})
    client.send("Input.imeSetComposition", {"text": "にほん", "selectionStart": 3, "selectionEnd": 3})
    event = "new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true, cancelable: true})"
    assert page.evaluate(f"document.activeElement.dispatchEvent({event})")  # Enter chooses a candidate
    client.send("Input.insertText", {"text": "日本"})
    at_first.press("Enter")
    assert at_first.settle()["rows"][0]["contents"][0] == "日本"


def test_names_are_edited_in_place_and_formulas_follow(at_first):
    at_first.press("ArrowUp", "F2")
    at_first.page.keyboard.press("Control+a")
    at_first.type("NP")
    at_first.press("Enter")
    assert at_first.settle()["regions"][0] == "NP"
    at_first.click(1, -1)
    at_first.type("wrong")
    at_first.press("Enter")
    doc = at_first.settle()
    assert doc["conditions"] == ["match", "wrong"]
    assert doc["predictions"][0]["formula"] == "(2;%wrong%) > (2;%match%)"
    assert len(at_first.suite.edits) == 2
    at_first.press("Control+z")
    assert at_first.settle()["predictions"][0]["formula"] == "(2;%mismatch%) > (2;%match%)"


def test_a_name_that_is_taken_is_refused_and_the_text_stays(at_first):
    at_first.click(1, -1)
    at_first.type("match")
    at_first.press("Enter")
    assert at_first.value() == "match"
    assert "already" in at_first.page.locator("[data-message]").inner_text()
    at_first.press("Escape")
    assert at_first.value() == "mismatch"


def test_item_numbers_are_numbers(at_first):
    at_first.click(2, -2)
    at_first.type("two")
    at_first.press("Enter")
    assert "whole number" in at_first.page.locator("[data-message]").inner_text()
    at_first.press("Escape")
    at_first.type("12")
    at_first.press("Enter")
    assert at_first.settle()["items"] == [1, 12, 3, 4]


def test_alt_shift_arrows_move_items_conditions_and_regions(at_first):
    at_first.press("Alt+Shift+ArrowDown")
    assert at_first.settle()["items"] == [2, 1, 3, 4]
    at_first.press("ArrowRight", "Alt+Shift+ArrowRight")
    doc = at_first.settle()
    assert doc["regions"] == ["Subject", "Rest", "Verb"]
    assert doc["predictions"][0]["formula"] == "(3;%mismatch%) > (3;%match%)"
    at_first.click(0, -1)
    at_first.press("Alt+Shift+ArrowDown")
    assert at_first.settle()["conditions"] == ["mismatch", "match"]


def test_page_keys_and_the_far_end_of_many_rows(make_sheet):
    sheet = make_sheet(big(1250, 4, 6))
    sheet.click(0, 0)
    sheet.press("PageDown")
    assert "item 1," not in sheet.active()
    sheet.press("Control+End")
    assert sheet.active().startswith("Region 6, item 1250, cond_3")
    assert sheet.page.locator("[role=grid] tbody tr").count() < 120
    sheet.type("the end")
    sheet.press("Enter", "Control+Home")
    assert sheet.active().startswith("Region 1, item 1, cond_0")
    assert sheet.settle()["rows"][-1]["contents"][5] == "the end"
