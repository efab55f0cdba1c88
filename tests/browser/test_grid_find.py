"""Find and replace, and the row filter, with the keyboard alone."""

from __future__ import annotations

from tests.browser.axe import violations_in_both_themes


def count(sheet):
    sheet.page.wait_for_timeout(200)
    return sheet.page.locator("[data-find-count]").inner_text()


def field(sheet, label):
    return sheet.page.get_by_role("form", name="Find and filter").get_by_label(label, exact=True)


def test_hits_are_counted_visited_and_replaced_in_one_step(sheet):
    sheet.click(0, 0)
    sheet.press("Control+f")
    sheet.type("PLAY")
    assert count(sheet) == "8 hits in 8 cells"
    field(sheet, "Whole words").check()
    assert count(sheet) == "4 hits in 4 cells"
    sheet.press("Tab")
    field(sheet, "Find").focus()
    sheet.press("Enter", "Enter")
    assert sheet.said() == "Verb, item 2, mismatch, compared by a prediction: play"
    sheet.press("Shift+Enter", "Tab")
    sheet.type("$& sing")
    sheet.page.get_by_role("button", name="Replace", exact=True).click()
    assert sheet.suite.cell(1, "mismatch", 2) == "play"  # not sent yet
    assert [row["contents"][1] for row in sheet.settle()["rows"]][:4] == ["plays", "$& sing", "plays", "play"]
    field(sheet, "Match case").check()
    assert count(sheet) == "No hits"
    field(sheet, "Find").fill("play")
    sheet.page.get_by_role("button", name="Replace all").click()
    assert sheet.page.locator("[data-find-count]").inner_text() == "Replaced 3 hits in 3 cells"
    assert violations_in_both_themes(sheet.page) == {}
    assert len(sheet.settle()["items"]) == 4
    assert len(sheet.suite.edits) == 2
    sheet.press("Escape", "Control+z")
    assert [row["contents"][1] for row in sheet.settle()["rows"]][1::2] == ["$& sing", "play", "play", "play"]


def test_only_the_selection_is_searched(sheet):
    sheet.click(0, 1)
    sheet.press("Shift+ArrowDown", "Shift+ArrowDown", "Control+f")
    sheet.type("play")
    assert count(sheet) == "3 hits in 3 cells in the selection"
    sheet.page.get_by_role("button", name="Replace all").click()
    assert [row["contents"][1] for row in sheet.settle()["rows"]][:4] == ["s", "", "s", "play"]


def test_rows_are_filtered_and_the_hidden_ones_left_alone(sheet):
    sheet.click(0, 1)
    sheet.press("Control+f")
    field(sheet, "Condition").select_option("mismatch")
    field(sheet, "Items").fill("1-2, 4")
    sheet.page.get_by_text("The filter shows 3 of 8 rows").wait_for()
    field(sheet, "Find").fill("play")
    assert count(sheet) == "3 hits in 3 cells"
    sheet.press("Escape")
    sheet.press("Control+a", "Delete")
    assert [row["contents"][0] for row in sheet.settle()["rows"]].count("") == 3
    sheet.paste("a\tb\nc\td\ne\tf\ng\th\n")
    assert "would go past the rows" in sheet.page.locator("[data-message]").inner_text()
    sheet.paste("a\tb\nc\td\n")
    doc = sheet.settle()
    assert [row["contents"][0] for row in doc["rows"]][:4] == ["The woman 1", "a", "The woman 2", "c"]
    assert doc["items"] == [1, 2, 3, 4]
    sheet.page.get_by_role("button", name="Add an item below").click()
    assert sheet.active().startswith("Subject, item 5, match")
    assert "5 of 10 rows" in sheet.page.locator("[data-filter-state]").inner_text()
    sheet.click(0, 0)
    sheet.page.locator("[data-grid-menu=item] summary").click()
    sheet.page.get_by_role("button", name="Delete", exact=True).click()
    assert "also in 1 row that the filter hides" in sheet.page.locator("[data-message]").inner_text()
    assert sheet.settle()["items"] == [2, 3, 4, 5]
    assert violations_in_both_themes(sheet.page) == {}
    sheet.page.get_by_role("button", name="Show all rows").click()
    assert sheet.cell(7, 0).count() == 1


def test_a_wrong_number_is_said_and_a_text_filters_too(sheet):
    sheet.click(0, 0)
    sheet.press("Control+f")
    field(sheet, "Items").fill("1-")
    sheet.page.get_by_text("Write numbers and ranges").wait_for()
    field(sheet, "Items").fill("")
    field(sheet, "Text").fill("WOMAN 3")
    sheet.page.get_by_text("The filter shows 2 of 8 rows").wait_for()
    field(sheet, "Text").fill("nobody")
    sheet.page.get_by_text("No row matches the filter").wait_for()
