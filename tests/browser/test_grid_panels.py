"""Panels of the sheet: predictions, live preview, check."""

from __future__ import annotations

import pytest

from tests.browser.grid_fake import agreement, big


def test_a_prediction_is_read_in_words_with_its_chance_also_after_a_region_was_renamed(sheet):
    said = sheet.page.locator(".prediction-said")
    said.get_by_text("surprisal at Verb is higher in mismatch than in match").wait_for()
    assert "Chance 50%" in said.inner_text()
    sheet.click(-1, 1)
    sheet.type("Copula")
    sheet.press("Enter")
    said.get_by_text("surprisal at Copula is higher in mismatch than in match").wait_for()


def test_regions_that_formulas_look_at_are_marked(sheet):
    assert "is-critical" in sheet.cell(-1, 1).get_attribute("class")
    assert "is-critical" in sheet.cell(0, 1).get_attribute("class")
    assert "is-critical" not in (sheet.cell(0, 0).get_attribute("class") or "")
    assert "compared by a prediction" in sheet.cell(-1, 1).inner_text()


def test_a_prediction_is_written_with_completion(sheet):
    page = sheet.page
    page.get_by_role("button", name="Add", exact=True).click()
    sheet.type("re")
    page.locator(".formula-options:visible [role=option]").first.wait_for()
    sheet.press("Enter")
    assert sheet.value() == "(3;%"
    sheet.type("mi")
    sheet.press("Tab")
    assert sheet.value() == "(3;%mismatch%)"
    sheet.type(" > (2")
    sheet.press("Enter", "ArrowDown", "Enter")
    assert sheet.value() == "(3;%mismatch%) > (2;%mismatch%)"
    sheet.click(0, 0)
    assert sheet.settle()["predictions"][1]["formula"] == "(3;%mismatch%) > (2;%mismatch%)"


def test_an_error_stands_under_its_character(sheet):
    field = sheet.page.get_by_role("textbox", name="Formula")
    field.fill("(2;%mismatch%) > (2;%match%) > 3")
    sheet.page.locator(".formula-wrong").wait_for()
    assert sheet.page.locator(".formula-wrong").inner_text() == ">"
    assert "Column 30" in sheet.page.locator(".prediction-said").inner_text()
    assert field.get_attribute("aria-invalid") == "true"


def test_a_visit_to_a_field_is_one_step(sheet):
    field = sheet.page.get_by_role("textbox", name="Name")
    field.click()
    for word in ("number", " agreement"):
        sheet.press("End")
        sheet.type(word)
        sheet.page.wait_for_timeout(450)
    sheet.click(0, 0)
    assert sheet.settle()["predictions"][0]["name"] == "agreementnumber agreement"
    sheet.press("Control+z")
    assert sheet.settle()["predictions"][0]["name"] == "agreement"
    assert field.input_value() == "agreement"
    sheet.press("Control+y")
    assert sheet.settle()["predictions"][0]["name"] == "agreementnumber agreement"


def test_predictions_are_ordered_described_and_deleted(sheet):
    page = sheet.page
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("textbox", name="Description").nth(1).fill("why")
    page.get_by_role("button", name="Move up").nth(1).click()
    doc = sheet.settle()
    assert [one["description"] for one in doc["predictions"]] == ["why", ""]
    page.get_by_role("button", name="Delete this prediction").first.click()
    assert [one["name"] for one in sheet.settle()["predictions"]] == ["agreement"]


def test_a_comparison_is_built_by_choosing(sheet):
    page = sheet.page
    page.get_by_text("Build a comparison").click()
    page.get_by_label("Surprisal at").select_option("3")
    page.get_by_label("in condition").nth(0).select_option("match")
    page.get_by_label("compared", exact=True).select_option("<")
    page.get_by_label("in condition").nth(1).select_option("mismatch")
    page.get_by_role("button", name="Add to the formula").click()
    wanted = "[(2;%mismatch%) > (2;%match%)] & [(3;%match%) < (3;%mismatch%)]"
    assert sheet.settle()["predictions"][0]["formula"] == wanted


# --- preview -----------------------------------------------------------------------------------------------------
def preview(sheet):
    sheet.page.get_by_label("Live preview").check()
    sheet.page.get_by_text("up to date").wait_for()


def test_the_preview_tints_cells_and_judges_items(sheet):
    preview(sheet)
    assert "h2" in sheet.cell(0, 1).get_attribute("class").split() or "h3" in sheet.cell(0, 1).get_attribute(
        "class"
    )
    assert sheet.cell(0, 1).locator(".bits").inner_text() == "5.0"
    assert sheet.cell(0, 3).inner_text().strip() == "22.0"
    assert "failed" in sheet.cell(0, 4).inner_text()
    assert "≈" not in sheet.cell(0, 4).inner_text()
    assert sheet.page.get_by_text("too close to call").count() == 0
    assert sheet.page.get_by_text("0 of 4 items hold").is_visible()
    assert sheet.page.get_by_role("img", name="Mean surprisal by region and condition").is_visible()


def test_a_changed_text_changes_its_item_soon(sheet):
    preview(sheet)
    before = len(sheet.suite.previews)
    sheet.click(1, 1)
    sheet.type("play and play")
    sheet.press("Enter")
    sheet.cell(0, 4).get_by_text("held").wait_for(timeout=1500)
    (asked,) = sheet.suite.previews[before:]
    assert {one["item"] for one in asked["sentences"]} == {1}
    assert len(asked["sentences"]) == 2
    assert sheet.page.get_by_text("1 of 4 items hold").is_visible()


def test_a_margin_inside_the_numeric_error_is_too_close_to_call_and_its_mark_is_not_cut_off(sheet):
    sheet.suite.error_bound = 3.0
    preview(sheet)
    cell = sheet.cell(0, 4)
    assert cell.inner_text().startswith("−1.0≈")
    assert cell.get_attribute("title") == "failed, by −1.0 bits, too close to call"
    assert cell.locator("[data-read]").inner_text() == cell.get_attribute("title")
    assert sheet.page.get_by_text("4 too close to call (≈)").is_visible()
    # Written and measured in one step, because the sheet may redraw the cell in between.
    room = cell.evaluate(
        """cell => {
            cell.querySelector('.margin').textContent = '−1234.5';
            const right = element => element.getBoundingClientRect().right;
            return right(cell) - right(cell.querySelector('.mark'));
        }"""
    )
    assert room >= 7  # the cell's padding


def test_words_the_model_does_not_know_are_counted_once_over_all_items(sheet):
    sheet.suite.unknown = {sheet.text(0, 1)}
    words = {
        word for row in sheet.suite.doc["rows"] for text in row["contents"] for word in text.split() if word
    }
    preview(sheet)
    share = min(99, round(100 * (1 - 1 / len(words))))
    told = f"up to date; coverage {share}%: 1 word this model does not know (\u2068{sheet.text(0, 1)}\u2069)"
    assert sheet.page.get_by_text(told).is_visible()


def test_a_sentence_that_cannot_be_scored_is_named_with_the_reason(sheet):
    preview(sheet)
    sheet.suite.longest = 60
    condition = sheet.suite.doc["conditions"][0]
    usual = sheet.text(0, 1)
    sheet.click(0, 1)
    sheet.type("x" * 61)
    sheet.press("Enter")
    told = sheet.page.get_by_text(f"item 1, {condition}: The text is too long.")
    told.wait_for(timeout=1500)
    sheet.click(0, 1)
    sheet.type(usual)
    sheet.press("Enter")
    sheet.page.get_by_text("up to date").wait_for(timeout=1500)
    assert told.count() == 0


def test_typing_never_waits_for_the_preview(sheet):
    preview(sheet)
    with sheet.suite.held("preview"):
        sheet.click(0, 1)
        for word in ("one", "two", "three", "four"):
            sheet.type(word)
            sheet.press("Enter")
        assert [sheet.text(row, 1) for row in range(4)] == ["one", "two", "three", "four"]
    sheet.settle()


def test_the_preview_is_off_at_first_and_goes_away(sheet):
    assert sheet.suite.previews == []
    preview(sheet)
    sheet.page.get_by_label("Live preview").uncheck()
    assert sheet.page.locator("[role=grid] .bits").count() == 0
    assert sheet.page.get_by_role("grid").get_attribute("aria-colcount") == "5"


def test_the_preview_follows_regions_and_predictions(sheet):
    preview(sheet)
    sheet.page.get_by_role("textbox", name="Formula").fill("(1;%match%) = (1;%mismatch%)")
    sheet.cell(0, 4).get_by_text("held").wait_for()
    sheet.click(0, 0)
    sheet.press("Alt+Shift+ArrowRight")
    sheet.page.get_by_text("up to date").wait_for()
    sheet.cell(0, 1).locator(".bits").get_by_text("11.0").wait_for()


def test_the_item_is_shown_in_tokens(sheet):
    preview(sheet)
    sheet.click(2, 1)
    panel = sheet.page.get_by_role("region", name="Item 2")
    subject = panel.get_by_role("row", name="mismatch").get_by_role("cell").first
    assert subject.locator(".token .form").all_inner_texts() == ["The", "␣woman", "␣2"]
    assert subject.locator(".token .bits").all_inner_texts() == ["3.0", "6.0", "2.0"]


def test_differences_from_a_condition_are_shown_and_only_equal_tokens_are_subtracted(make_sheet):
    doc = agreement(items=1)
    for row in doc["rows"]:
        verb = "plays the" if row["condition"] == "match" else "play the"
        row["contents"] = ["The woman", verb, "guitar" if row["condition"] == "match" else ""]
    sheet = make_sheet(doc)
    preview(sheet)
    sheet.page.get_by_label("Colours").select_option(label="Difference from match")
    assert [sheet.cell(1, k).inner_text().split("\n")[-1] for k in range(3)] == ["0.0", "−1.0", "∅"]
    assert "d-1" in sheet.cell(1, 1).get_attribute("class").split()
    assert sheet.cell(0, 1).locator(".bits").inner_text() == "9.0"  # the baseline
    sheet.page.locator(".grid-item .token").first.wait_for()
    verb = sheet.page.get_by_role("region", name="Item 1").get_by_role("row").last.get_by_role("cell").nth(1)
    assert verb.locator(".token .bits").all_inner_texts() == ["–", "0.0"]


def test_rows_stay_equally_high_beside_large_numbers(make_sheet):
    doc = agreement()
    doc["rows"][2]["contents"][1] = "extraordinarily " * 9
    sheet = make_sheet(doc)
    preview(sheet)
    heights = sheet.page.evaluate(
        "[...document.querySelectorAll('[role=grid] tbody tr[aria-rowindex]')].map(row => row.offsetHeight)"
    )
    assert len(set(heights)) == 1


# --- in sight ------------------------------------------------------------------------------------------------------
def many_predictions():
    doc = agreement()
    return doc | {"predictions": doc["predictions"] * 8}


def test_the_sheet_stays_in_sight_while_predictions_are_edited(make_sheet):
    sheet = make_sheet(many_predictions(), context={"viewport": {"width": 1280, "height": 800}})
    sheet.page.get_by_role("textbox", name="Formula").last.click()
    assert sheet.page.evaluate("scrollY") > 400
    for cell in (sheet.cell(-1, 0), sheet.cell(0, 0), sheet.cell(7, 2)):
        box = cell.bounding_box()
        assert 0 <= box["y"] <= 800 - box["height"]


def test_on_a_telephone_the_item_stays_in_sight_above_the_prediction(make_sheet):
    sheet = make_sheet(many_predictions(), context={"viewport": {"width": 390, "height": 844}})
    sheet.click(2, 1)
    formula = sheet.page.get_by_role("textbox", name="Formula").nth(6)
    formula.focus()
    formula.press("Shift+Tab")  # the browser scrolls upwards
    panel = sheet.page.get_by_role("region", name="Item 2").bounding_box()
    assert panel["y"] == 0
    assert formula.bounding_box()["y"] >= panel["height"]
    assert sheet.page.evaluate("document.activeElement.getBoundingClientRect().top") >= panel["height"]


def long_names():
    doc = big(2, 4, 12)
    names = {name: f"implausible_long_no_comma_ambiguous_{k}" for k, name in enumerate(doc["conditions"])}
    doc["conditions"] = list(names.values())
    for row in doc["rows"]:
        row["condition"] = names[row["condition"]]
    doc["regions"] = [f"Region {k} after the disambiguating main verb" for k in range(12)]
    return doc


def test_names_are_not_cut(make_sheet):
    sheet = make_sheet(long_names(), context={"viewport": {"width": 1280, "height": 800}})
    cut = """[...document.querySelectorAll(".grid .region-name, .grid .cond-name")].filter(
      name => name.scrollWidth > name.clientWidth || name.scrollHeight > name.clientHeight + 1
    ).map(name => name.textContent)"""
    assert sheet.page.evaluate(cut) == []


def test_the_last_region_is_reached_at_1280_pixels(make_sheet):
    sheet = make_sheet(long_names(), context={"viewport": {"width": 1280, "height": 800}})
    is_uncovered = """cell => {
      const box = cell.getBoundingClientRect();
      const at = x => document.elementFromPoint(x, box.top + box.height / 2);
      return cell.contains(at(box.left + 2)) && cell.contains(at(box.right - 2));
    }"""
    for prepare in (lambda sheet: None, preview):
        prepare(sheet)
        sheet.click(0, 0)
        sheet.press("End")
        assert "Region 11" in sheet.active()
        assert sheet.cell(0, 11).evaluate(is_uncovered), prepare
        assert sheet.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, prepare


# --- check -------------------------------------------------------------------------------------------------------
def finding():
    return {
        "code": "odd-empty",
        "severity": "warning",
        "where": "item 2, region 3 (Rest)",
        "message": "This region is empty in one condition only.",
        "hint": "Fill it.",
        "cells": [[2, "mismatch", 3], [3, "match", 3]],
    }


def test_a_finding_leads_to_its_cells_one_after_the_other(make_sheet):
    sheet = make_sheet(agreement(), start=False)
    sheet.suite.findings = [finding()]
    sheet.open()
    sheet.page.get_by_role("button", name="item 2, region 3").click()
    assert sheet.active().startswith("Rest, item 2, mismatch")
    assert "a warning" in sheet.active()
    sheet.page.get_by_role("button", name="item 2, region 3").click()
    assert sheet.active().startswith("Rest, item 3, match")


def test_a_finding_is_dismissed_with_a_reason_and_shown_again(make_sheet):
    sheet = make_sheet(agreement(), start=False)
    sheet.suite.findings = [finding()]
    sheet.open()
    page = sheet.page
    page.get_by_text("Dismiss …").click()
    page.get_by_label("Why this is intended").fill("by design")
    page.get_by_role("button", name="Dismiss").click()
    page.get_by_text("no problems found").wait_for()
    assert sheet.suite.ignored == {("odd-empty", "item 2, region 3 (Rest)"): "by design"}
    assert "has-warning" not in (sheet.cell(3, 2).get_attribute("class") or "")
    page.get_by_text("1 finding dismissed").click()
    assert page.get_by_text("Dismissed: by design").is_visible()
    page.get_by_role("button", name="Show again").click()
    page.get_by_text("1 finding", exact=True).wait_for()


# --- for everybody -------------------------------------------------------------------------------------------------
@pytest.mark.chromium_only  # Firefox does not emulate phones: its pointer stays fine
def test_it_fits_a_telephone_and_a_second_tap_edits(make_sheet):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    sheet = make_sheet(context=phone)
    assert sheet.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    sheet.cell(0, 0).tap()
    assert sheet.page.evaluate("document.activeElement.inputMode") == "none"
    sheet.cell(0, 0).tap()
    assert sheet.page.evaluate("document.activeElement.inputMode") == "text"
    sheet.type(" x")
    sheet.press("Enter")
    assert sheet.settle()["rows"][0]["contents"][0] == "The woman 1 x"


def test_on_a_telephone_results_stand_under_their_headings(make_sheet):
    sheet = make_sheet(context={"viewport": {"width": 390, "height": 844}})
    preview(sheet)
    for place in (0, 10_000):
        sheet.page.locator(".grid-box").evaluate("(box, left) => { box.scrollLeft = left }", place)
        for k, column in enumerate((3, 4)):  # total, first prediction
            heading = sheet.page.locator(".grid thead th.extra").nth(k).bounding_box()
            assert heading["x"] == pytest.approx(sheet.cell(0, column).bounding_box()["x"], abs=1)


def test_it_can_be_used_at_twice_the_size(make_sheet):
    sheet = make_sheet(context={"viewport": {"width": 700, "height": 450}, "device_scale_factor": 2})
    assert sheet.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    sheet.click(0, 0)
    sheet.press("Control+End")
    assert sheet.cell(7, 2).is_visible()


# ---- scoring ----


def test_the_scoring_is_set_undone_and_previewed_beside_the_sheet(sheet):
    page = sheet.page
    page.get_by_label("How regions are joined").select_option("natural")
    page.get_by_label("Value of a region").select_option("mean")
    doc = sheet.settle()
    assert (doc["metric"], doc["join"]) == ("mean", "natural")
    page.locator("[data-undo]").click()
    doc = sheet.settle()
    assert (doc["metric"], doc["join"]) == ("sum", "natural")
    assert page.get_by_label("Value of a region").input_value() == "sum"
    page.get_by_label("Live preview").check()
    page.get_by_text("up to date").wait_for()
    assert (sheet.suite.previews[-1]["metric"], sheet.suite.previews[-1]["join"]) == ("sum", "natural")


def test_advice_about_joins_leads_to_the_field(sheet):
    sheet.suite.findings = [{**finding(), "code": "straddle-risk", "setting": "join"}]
    sheet.page.reload()
    sheet.page.get_by_role("button", name="Set how regions are joined").click()
    assert sheet.page.evaluate("document.activeElement.id") == "scoring-join"
