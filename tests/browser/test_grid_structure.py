"""Items, conditions and regions are edited by menu: formulas follow, each edit is one step, and no mouse is
needed."""

from __future__ import annotations

import re
from copy import deepcopy

import pytest

FORMULA = "(2;%mismatch%) > (2;%match%)"


def menu(sheet, which, label):
    box = sheet.page.locator(f"[data-grid-menu={which}]")
    box.locator("summary").click()
    box.locator(".menu-list").get_by_role("button", name=re.compile(f"^{label}")).click()


def confirm(sheet):
    sheet.page.get_by_role("dialog").get_by_role("button", name="Delete").click()


ITEMS = {
    "Add below": [1, 2, 5, 3, 4],
    "Add above": [1, 5, 2, 3, 4],
    "Duplicate": [1, 2, 5, 3, 4],
    "Move up": [2, 1, 3, 4],
    "Move down": [1, 3, 2, 4],
    "Delete": [1, 3, 4],
}


def test_each_entry_of_the_item_menu_is_one_step(sheet):
    for label, items in ITEMS.items():
        sheet.click(2, 1)
        menu(sheet, "item", label)
        doc = sheet.settle()
        assert doc["items"] == items, label
        assert len(doc["rows"]) == 2 * len(items), label
        assert {row["condition"] for row in doc["rows"]} == {"match", "mismatch"}, label
        sheet.press("Control+z")  # if this were not all of it, the next entry would not give its items
    assert sheet.settle()["items"] == [1, 2, 3, 4]


def test_several_chosen_items_are_deleted_at_once(sheet):
    before = sheet.suite.doc["rows"]
    sheet.click(1, 0)
    sheet.press("Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown")
    menu(sheet, "item", "Delete 3 items")
    assert sheet.settle()["items"] == [4]
    sheet.press("Control+z")
    assert sheet.settle()["rows"] == before


def test_conditions_are_added_and_named_at_once(sheet):
    sheet.click(0, 1)
    menu(sheet, "condition", "Add below")
    sheet.type("third")
    sheet.press("Enter")
    doc = sheet.settle()
    assert doc["conditions"] == ["match", "third", "mismatch"]
    assert len(doc["rows"]) == 12


def test_a_condition_is_copied_moved_and_deleted(sheet):
    sheet.click(0, 1)
    menu(sheet, "condition", "Duplicate")
    sheet.press("Escape")
    doc = sheet.settle()
    copied = doc["conditions"][1]
    assert sheet.suite.cell(3, copied, 2) == "plays"
    sheet.click(0, 1)
    menu(sheet, "condition", "Delete")
    confirm(sheet)
    doc = sheet.settle()
    assert doc["conditions"] == [copied, "mismatch"]
    assert doc["predictions"][0]["formula"] == FORMULA
    assert "1 prediction used it" in sheet.said()
    sheet.page.locator(".prediction-said", has_text="There is no condition").wait_for()


REGIONS = [
    (0, "Add to the right", ["Subject", "Region 4", "Verb", "Rest"], "(3;%mismatch%) > (3;%match%)"),
    (1, "Add to the left", ["Subject", "Region 4", "Verb", "Rest"], "(3;%mismatch%) > (3;%match%)"),
    (1, "Delete", ["Subject", "Rest"], "(?;%mismatch%) > (?;%match%)"),
    (1, "Move left", ["Verb", "Subject", "Rest"], "(1;%mismatch%) > (1;%match%)"),
    (1, "Duplicate", ["Subject", "Verb", "Verb 2", "Rest"], FORMULA),
]


def test_each_entry_of_the_region_menu_is_one_step_that_formulas_follow(sheet):
    for column, label, regions, formula in REGIONS:
        sheet.click(2, column)
        menu(sheet, "region", label)
        if "?" in formula:
            confirm(sheet)
            sheet.page.get_by_text("The ? replaces a deleted region").wait_for()
        sheet.press("Escape")
        doc = sheet.settle()
        assert doc["regions"] == regions, label
        assert doc["predictions"][0]["formula"] == formula, label
        sheet.press("Control+z")
    doc = sheet.settle()
    assert (doc["regions"], doc["predictions"][0]["formula"]) == (["Subject", "Verb", "Rest"], FORMULA)
    assert sheet.suite.cell(2, "match", 2) == "plays"
    assert len(sheet.suite.edits) == 2 * len(REGIONS)


@pytest.mark.parametrize(
    ("which", "title"), [("condition", "Delete condition match?"), ("region", "Delete region 2 Verb?")]
)
def test_what_a_prediction_uses_is_deleted_only_when_confirmed(sheet, which, title):
    before = deepcopy(sheet.settle())
    sheet.click(0, 1)
    menu(sheet, which, "Delete")
    dialog = sheet.page.get_by_role("dialog", name=title)
    assert "1 prediction uses it" in dialog.inner_text()
    assert dialog.get_by_role("listitem").all_inner_texts() == ["agreement"]
    dialog.get_by_role("button", name="Cancel").click()
    assert sheet.settle() == before
    assert sheet.active().startswith("Verb, item 1")
    menu(sheet, which, "Delete")
    confirm(sheet)
    assert sheet.settle() != before
    assert sheet.active()


def test_the_menu_opens_at_the_cell_by_key_and_arrows_walk_it(sheet):
    sheet.click(2, 1)
    sheet.press("Shift+F10")
    focused = "document.activeElement.textContent"
    assert sheet.page.evaluate(focused) == "CutCtrl+X"
    sheet.press(*["ArrowDown"] * 4)
    assert sheet.page.evaluate(focused) == "Add below"
    sheet.press("ArrowDown", "ArrowDown")
    assert sheet.page.evaluate(focused) == "Duplicate"
    sheet.press("Enter")
    assert sheet.settle()["items"] == [1, 2, 5, 3, 4]
    sheet.click(2, 1)
    sheet.press("Shift+F10", "Escape")
    assert sheet.active().startswith("Verb, item 2")


def test_the_last_region_and_condition_stay(sheet):
    for asks in (False, True, False):
        sheet.click(0, 0)
        menu(sheet, "region", "Delete")
        if asks:
            confirm(sheet)
    assert "at least one region" in sheet.page.locator("[data-message]").inner_text()
    assert sheet.settle()["regions"] == ["Rest"]


def test_a_suite_can_be_emptied_and_begun_anew(sheet):
    sheet.click(0, 0)
    sheet.press("Control+a")
    menu(sheet, "item", "Delete 4 items")
    assert sheet.page.get_by_text("No items yet").is_visible()
    menu(sheet, "item", "Add below")
    sheet.type("A cat")
    sheet.press("Enter")
    doc = sheet.settle()
    assert doc["items"] == [1]
    assert doc["rows"][0]["contents"] == ["A cat", "", ""]


def test_an_item_is_added_under_the_last_row(sheet):
    sheet.page.get_by_role("button", name="Add an item below").click()
    sheet.type("The man")
    sheet.press("Enter")
    doc = sheet.settle()
    assert doc["items"] == [1, 2, 3, 4, 5]
    assert doc["rows"][8]["contents"] == ["The man", "", ""]


def test_a_selection_is_cut_from_the_menu_and_has_one_outline(sheet):
    sheet.click(0, 0)
    sheet.press("Shift+ArrowRight", "Shift+ArrowDown")
    edges = [sheet.cell(r, c).get_attribute("data-edges") for r in (0, 1) for c in (0, 1)]
    assert edges == ["top left", "top right", "bottom left", "right bottom"]
    sheet.press("Shift+F10")
    sheet.page.get_by_role("button", name="Cut Ctrl+X").click()
    assert [row["contents"] for row in sheet.settle()["rows"][:2]] == [["", "", "guitar"]] * 2


def test_results_stay_in_sight_only_where_they_hide_no_cell(make_sheet):
    for width, stick in ((1400, True), (390, False)):
        sheet = make_sheet(context={"viewport": {"width": width, "height": 800}})
        sheet.page.get_by_label("Live preview").check()
        sheet.page.get_by_text("up to date").wait_for()
        assert ("results-stick" in sheet.page.locator("[data-grid]").get_attribute("class")) == stick


COVERED = """() => {
  const active = document.querySelector(".grid .is-active").getBoundingClientRect();
  return [...document.querySelectorAll(".grid tbody tr:has(.is-active) > th:not(.is-active)")].some((head) => {
    const { left, right } = head.getBoundingClientRect();
    return left < active.right - 1 && right > active.left + 1;
  });
}"""


def test_on_a_telephone_no_heading_covers_the_cell_one_is_in(make_sheet):
    sheet = make_sheet(context={"viewport": {"width": 390, "height": 800}})
    grid = sheet.page.locator("[data-grid]")
    assert "conditions-loose" not in grid.get_attribute("class")  # these texts are short
    sheet.click(0, 0)
    sheet.type("a text that is much wider than what the screen of a telephone leaves for it")
    sheet.press("Enter")
    assert "conditions-loose" in grid.get_attribute("class")
    sheet.press("ArrowUp")
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft"):
        sheet.press(key)
        assert not sheet.page.evaluate(COVERED)


def test_the_preview_begins_with_the_model_used_last(sheet):
    sheet.page.get_by_label("Model of the preview").select_option("b")
    sheet.page.get_by_label("Live preview").check()
    sheet.page.get_by_text("up to date").wait_for()
    sheet.page.reload()
    sheet.page.wait_for_selector("[data-ready=yes]")
    assert sheet.page.get_by_label("Model of the preview").input_value() == "b"

    here = sheet.page.evaluate("document.querySelector('[data-suite]').dataset.suite")
    keys = sheet.page.evaluate(
        "Object.keys(localStorage).filter((key) => key.startsWith('lmgym-preview-model:'))"
    )
    own = next(key for key in keys if key.endswith(f":{here}"))
    sheet.page.evaluate("key => localStorage.removeItem(key)", own)  # as for another suite
    sheet.page.reload()
    sheet.page.wait_for_selector("[data-ready=yes]")
    assert sheet.page.get_by_label("Model of the preview").input_value() == "b"
