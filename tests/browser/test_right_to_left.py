"""A sheet in a right-to-left language starts at the right, and arrow keys move in the visual direction."""

from __future__ import annotations

import pytest

from tests.browser.test_grid_structure import menu

REGIONS = ["الفاعل", "الفعل", "الباقي"]
TEXTS = {"match": ["الولد", "يكتب", "رسالة طويلة."], "mismatch": ["الولد", "تكتب", "رسالة طويلة."]}


def arabic(*, repeated: int = 1):
    return {
        "metric": "sum",
        "join": "space",
        "regions": REGIONS * repeated,
        "conditions": ["match", "mismatch"],
        "items": [1, 2],
        "rows": [
            {"item": item, "condition": condition, "contents": TEXTS[condition] * repeated}
            for item in (1, 2)
            for condition in ("match", "mismatch")
        ],
        "predictions": [],
    }


@pytest.fixture
def rtl(make_sheet):
    return make_sheet(arabic() | {"rtl": True})


def left(sheet, row, column):
    return sheet.cell(row, column).bounding_box()["x"]


def direction(sheet, row, column):
    return sheet.cell(row, column).evaluate("cell => getComputedStyle(cell).direction")


def test_regions_run_from_the_right(rtl):
    places = [left(rtl, 0, column) for column in (-2, -1, 0, 1, 2)]
    assert places == sorted(places, reverse=True)
    assert direction(rtl, 0, 2) == "rtl"


def test_the_left_arrow_goes_to_the_next_region(rtl):
    rtl.click(0, 0)
    rtl.press("ArrowLeft")
    assert rtl.value() == "يكتب"
    rtl.press("ArrowRight", "ArrowRight")
    assert rtl.value() == "match"
    rtl.press("Control+ArrowLeft")
    assert rtl.value() == "رسالة طويلة."


def test_menus_name_the_side_that_is_seen(rtl):
    rtl.click(0, 0)
    menu(rtl, "region", "Add to the left")
    rtl.press("Escape")
    assert rtl.settle()["regions"] == [REGIONS[0], "Region 4", *REGIONS[1:]]
    rtl.click(0, 0)
    rtl.press("Alt+Shift+ArrowLeft")
    assert rtl.settle()["regions"] == ["Region 4", *REGIONS]


def test_a_chosen_region_comes_into_sight_at_either_end(make_sheet):
    sheet = make_sheet(
        arabic(repeated=6) | {"rtl": True}, context={"viewport": {"width": 700, "height": 700}}
    )
    box = sheet.page.locator("[data-grid]").bounding_box()

    def in_sight(column):
        at = sheet.cell(0, column).bounding_box()
        return box["x"] - 1 <= at["x"] and at["x"] + at["width"] <= box["x"] + box["width"] + 1

    sheet.click(0, 0)
    assert not in_sight(17)
    sheet.press("End")
    assert in_sight(17)
    sheet.press("Home")
    assert in_sight(0)


def test_a_sheet_of_another_language_begins_at_the_left_with_each_text_in_its_own_direction(make_sheet):
    sheet = make_sheet(arabic())
    places = [left(sheet, 0, column) for column in (-2, -1, 0, 1, 2)]
    assert places == sorted(places)
    assert (direction(sheet, 0, 2), direction(sheet, 0, -1)) == ("rtl", "ltr")
    sheet.click(0, 2)
    sheet.press("F2")
    assert sheet.page.evaluate("getComputedStyle(document.activeElement).direction") == "rtl"


def preview(sheet):
    sheet.page.get_by_label("Live preview").check()
    sheet.page.get_by_text("up to date").wait_for()


def test_a_sign_stays_before_its_number(make_sheet):
    doc = arabic() | {"rtl": True}
    doc["rows"][1] |= {"contents": ["الولد", "تكتبون", "رسالة طويلة."]}
    sheet = make_sheet(doc)
    preview(sheet)
    sheet.page.get_by_label("Colours").select_option(label="Difference from match")
    bits = sheet.cell(1, 1).locator(".bits")
    assert bits.inner_text() == "+2.0"
    sign, last_digit = bits.evaluate("""bits => [0, 3].map(at => {
      const character = document.createRange();
      character.setStart(bits.firstChild, at);
      character.setEnd(bits.firstChild, at + 1);
      return character.getBoundingClientRect().left;
    })""")
    assert sign < last_digit


def test_tokens_run_from_the_right_also_in_a_sheet_of_another_language(make_sheet):
    sheet = make_sheet(arabic())
    preview(sheet)
    tokens = sheet.page.get_by_role("region", name="Item 1").get_by_role("cell").nth(2).locator(".token")
    first, second = (token.bounding_box()["x"] for token in tokens.all())
    assert first > second
