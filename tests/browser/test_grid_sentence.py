"""A whole sentence is typed and split into regions with the keyboard or the mouse."""

from __future__ import annotations

from tests.browser.axe import violations_in_both_themes


def regions(sheet):
    return sheet.page.locator("[data-sentence-regions] > li .words").all_inner_texts()


def row(sheet, number):
    return sheet.settle()["rows"][number]["contents"]


def test_a_sentence_is_typed_cut_and_saved_with_the_keyboard(sheet):
    sheet.click(2, 1)
    sheet.press("Control+Enter")
    dialog = sheet.page.get_by_role("dialog")
    assert dialog.get_by_role("heading").inner_text() == "Item 2, match"
    assert sheet.value() == "The woman 2 | plays | guitar"
    sheet.type("My cat | sleeps  | in | bed.")
    assert "Saving adds 1 region" in dialog.inner_text()
    assert violations_in_both_themes(sheet.page) == {}
    sheet.press("Enter")
    assert dialog.get_by_role("heading").inner_text() == "Item 2, mismatch"
    assert row(sheet, 2) == ["My cat", "sleeps", "in", "bed."]
    assert len(sheet.suite.edits) == 1
    sheet.type("Cats |")
    sheet.press("Enter", "Escape")
    assert row(sheet, 3) == ["Cats", "", "", ""]
    sheet.press("Control+z", "Control+z")
    doc = sheet.settle()
    assert (doc["regions"], row(sheet, 2)) == (
        ["Subject", "Verb", "Rest"],
        ["The woman 2", "plays", "guitar"],
    )


def test_cuts_are_placed_by_clicks_and_a_click_takes_them_back(sheet):
    sheet.click(0, 0)
    sheet.page.get_by_role("button", name="Sentence").click()
    dialog = sheet.page.get_by_role("dialog")
    dialog.get_by_role("button", name="plays").click()  # merged with the previous region
    assert sheet.page.get_by_label("Whole sentence").input_value() == "The woman 1 plays | guitar"
    dialog.get_by_role("button", name="woman").click()
    assert [text.split() for text in regions(sheet)] == [["The"], ["woman", "1", "plays"], ["guitar"]]
    sheet.press("ArrowLeft")
    assert sheet.page.evaluate("document.activeElement.textContent") == "The"
    dialog.get_by_role("button", name="Save and close").click()
    assert row(sheet, 0) == ["The", "woman 1 plays", "guitar"]
    assert sheet.active().startswith("Subject, item 1, match")


def test_a_text_that_came_in_meanwhile_is_a_conflict_and_escape_saves_nothing(sheet):
    sheet.click(0, 0)
    sheet.press("Control+Enter")
    sheet.type("nothing")
    sheet.press("Escape")
    sheet.suite.elsewhere({"op": "set_cells", "cells": [[1, "match", 2, "plays", "strums"]]})
    sheet.press("Control+Enter")
    sheet.type("The woman 1 | sings | guitar")
    sheet.page.get_by_role("button", name="Save and close").click()
    merge = sheet.page.get_by_role("dialog", name="Conflicting edits")
    merge.get_by_text("strums").wait_for()
    assert sheet.suite.doc["rows"][0]["contents"] == ["The woman 1", "strums", "guitar"]
