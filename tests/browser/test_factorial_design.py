"""The tutorial with the keyboard alone: a 2 x 2 design from New suite to results of two models; and the
design panel."""

from __future__ import annotations

import re
import time
from textwrap import dedent

from tests.browser.authoring import begin, editor_of, stored
from tests.browser.axe import violations_in_both_themes
from tests.browser.conftest import ROOT

KEYS_IN_FIVE_MINUTES = 1500
"""Number of keystrokes in five minutes at 60 words a minute."""
FACTORS = ["agreement: match, mismatch", "number: sing, plural"]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = [dedent(block).strip().split("\n") for block in re.findall(r"```\n(.*?)```", TUTORIAL, re.DOTALL)]
"""Lines that the tutorial says to type into each field of several lines."""
ACTIVE = """() => {
  const one = document.activeElement;
  const label = one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent;
  return [label.trim().replace(/\\s+/g, " "), Boolean(one.closest("[data-grid]"))];
}"""


class Typist:
    """A keyboard user whose keystrokes are counted."""

    def __init__(self, page):
        self.page = page
        self.keys = 0

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
            self.keys += 1

    def type(self, *lines):
        for place, line in enumerate(lines):
            if place:
                self.press("Enter")
            self.page.keyboard.type(line)
            self.keys += len(line)

    def reach(self, name, key="Tab"):
        """Press `key` until an element whose label starts with `name` has the focus. In the sheet, press
        Escape before each `key` to leave it.
        """
        passed = []
        for _ in range(100):
            label, in_sheet = self.page.evaluate(ACTIVE)
            if label.startswith(name):
                return
            passed.append(label[:40])
            self.press(*(["Escape"] if in_sheet else []), key)
        raise AssertionError(f"{name} is not reached by {key}: {passed}")


def follow(hands, *steps):
    """Carry out steps of the tutorial: go to the element named in bold, and press Enter or type the given
    text."""
    for name, said in steps:
        assert f"**{name}**" in TUTORIAL
        hands.reach(name)
        if isinstance(said, list):
            assert said in BLOCKS
            hands.type(*(line.strip() for line in said))
        elif said:
            assert f"`{said}`" in TUTORIAL
            hands.type(said)
        else:
            hands.press("Enter")


def test_the_tutorial_leads_from_new_suite_to_results_of_two_models_by_keys_alone(signed_in):
    page = signed_in
    page.goto("/")
    hands = Typist(page)
    begun = time.monotonic()
    follow(hands, ("New suite", ""))
    page.wait_for_url("**/suites/new/")
    factors, regions, items = BLOCKS
    assert factors == FACTORS
    follow(
        hands,
        ("Name", "Number agreement by keys"),
        ("Language", "en"),
        ("Factors", factors),
        ("Regions", regions),
        ("First items", items),
        ("Create draft", ""),
    )
    editor_of(page)

    follow(hands, ("Predict effects", ""), ("Region", "3"))
    page.locator("#effect-2-said").wait_for(state="attached")
    follow(
        hands,
        ("Main effect of agreement", "higher"),
        ("Interaction of agreement × number", "smaller"),
        ("Add predictions", ""),
    )
    page.get_by_text("Chance 50%").nth(1).wait_for()
    hands.reach("Freeze", "Shift+Tab")
    hands.press("Enter")
    page.wait_for_url("**/freeze/")

    for model in ("Demo 5-gram", "Demo GPT-2"):
        assert f"**{model}**" in TUTORIAL
        hands.reach(model)
        hands.press("Space")
    follow(hands, ("Freeze r1", ""))
    page.wait_for_url("**/r1/")
    rows = page.locator("#scores tbody tr")
    while rows.count() < 2 and time.monotonic() - begun < 120:
        page.wait_for_timeout(500)  # they appear without a reload
    assert sorted(rows.locator("th a").all_inner_texts()) == ["Demo 5-gram", "Demo GPT-2"]
    said = page.locator("main").inner_text()
    assert all(
        name in said for name in ("Main effect of agreement, Verb", "Interaction of agreement × number, Verb")
    )
    assert hands.keys < KEYS_IN_FIVE_MINUTES
    design = page.get_by_role("table", name="Factorial design")
    assert design.locator("tbody tr").nth(3).inner_text().split() == ["mismatch_plural", "mismatch", "plural"]
    assert violations_in_both_themes(page) == {}


def test_a_design_is_given_to_a_suite_that_has_conditions_changed_and_taken_back(signed_in):
    page = signed_in
    sheet = begin(page, ["sing_match", "sing_mismatch", "pl_match", "filler"], ["Subject", "Verb"], ["A | b"])
    page.locator("[data-design-edit] summary").click()
    page.get_by_label("Factors and their levels").fill("number: sing, pl\nagreement: match")
    page.get_by_role("button", name="Apply factors").click()
    page.get_by_text("“agreement” has 1 level; a factor has 2 to 20.").wait_for()
    page.get_by_label("Factors and their levels").fill("number: sing, pl\nagreement: match, mismatch")
    page.get_by_role("button", name="Apply factors").click()
    page.get_by_text("No condition has pl × mismatch.", exact=True).wait_for()
    table = page.locator("[data-design-table]")
    assert "filler outside the design" in " ".join(table.inner_text().split())
    page.locator("[data-design-predict] summary").click()
    page.get_by_text("Main effect of number: No condition has pl × mismatch.").wait_for()
    assert violations_in_both_themes(page) == {}

    page.get_by_role("button", name="Add missing conditions").click()
    page.get_by_label("Main effect of number").wait_for()
    now = stored(sheet)
    assert now["conditions"][-1] == "pl_mismatch"
    assert now["factors"][1]["conditions"]["pl_mismatch"] == "mismatch"

    explained = "**/designs/explain/"
    page.route(explained, lambda route: None)  # no response comes
    page.get_by_label("Region", exact=True).select_option("2")
    assert not page.get_by_label("Main effect of number").count()  # its formula is for region 1
    page.unroute(explained)

    sheet.click(0, -1)  # the first condition's name
    sheet.type("right")
    sheet.press("Enter")
    assert stored(sheet)["factors"][0]["conditions"]["right"] == "sing"
    page.locator("[data-design-edit] summary").click()
    page.get_by_label("number of filler").select_option("sing")
    page.get_by_role("button", name="Apply factors").click()
    page.get_by_text("The condition “filler” has no level of “agreement”.").wait_for()
    assert violations_in_both_themes(page) == {}
    page.get_by_role("button", name="Remove design").click()
    assert stored(sheet)["factors"] == []
    page.get_by_role("button", name="Undo").click()
    assert stored(sheet)["factors"][0]["conditions"]["right"] == "sing"


def test_new_suite_with_a_design_has_no_violation_and_enter_in_a_field_creates_the_suite(signed_in):
    page = signed_in
    page.goto("/suites/new/")
    page.get_by_label("Name").first.fill("Enter creates")
    page.get_by_label("Factors").fill("\n".join(FACTORS))
    page.get_by_role("button", name="Preview conditions").click()
    page.get_by_role("table", name="Factorial design").wait_for()
    assert violations_in_both_themes(page) == {}
    page.get_by_role("textbox", name="Regions").fill("Subject\nVerb")
    page.get_by_label("Name").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/editor/")
