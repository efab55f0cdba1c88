"""A suite's page while models run on it, and tables wider than the page."""

from __future__ import annotations

import re

from tests.lmgym.suites.documents import suite_bytes

AGREES, REVERSED = "(2;%mismatch%) > (2;%match%)", "(2;%mismatch%) < (2;%match%)"


def imported(page, tmp_path, **options) -> None:
    path = tmp_path / "arriving.json"
    path.write_bytes(suite_bytes(**options))
    page.goto("/suites/import/")
    page.locator("#id_file").set_input_files(path)
    page.get_by_role("button", name=re.compile("Import")).click()
    page.wait_for_url(f"**/suites/{options['name']}/")


def test_after_freezing_the_results_of_several_models_arrive_without_a_reload(signed_in, tmp_path):
    page = signed_in
    imported(page, tmp_path, name="arriving", items=60, formulas=(AGREES, REVERSED))
    page.goto("/suites/arriving/freeze/")
    page.get_by_label("Demo GPT-2").check()
    page.get_by_label("Demo 5-gram").check()
    page.get_by_role("button", name=re.compile("Freeze")).click()
    page.wait_for_url("**/suites/arriving/r1/")
    page.evaluate("window.never = 'loaded anew'")
    page.locator("#under-way-live").get_by_role("progressbar").first.wait_for()
    page.locator("#scores").get_by_role("link", name="Demo GPT-2").wait_for(timeout=60_000)
    page.locator("#scores").get_by_role("link", name="Demo 5-gram").wait_for(timeout=60_000)
    page.locator("#under-way-live section").wait_for(state="detached")
    assert page.evaluate("window.never") == "loaded anew"
    assert page.locator(
        "#scores th button.sort"
    ).first.is_visible()  # scripts work in the loaded parts as well
    figure = page.locator("#results-part [data-figure]").first
    figure.locator(".chart-box").focus()
    page.keyboard.press("ArrowRight")
    assert figure.locator("[data-figure-readout]").inner_text() != ""


def test_run_in_the_head_leads_to_the_models_and_to_a_run(signed_in):
    page = signed_in
    page.goto("/suites/agreement_orc/")
    page.get_by_role("banner").or_(page.locator(".page-header")).get_by_role(
        "link", name="Run", exact=True
    ).press("Enter")
    page.get_by_label("Demo 5-gram").check()
    page.get_by_role("button", name="Run selected models").click()
    page.get_by_text("Model: Demo 5-gram").wait_for()


def test_the_run_link_and_every_prediction_are_in_sight_at_1280(page):
    page.goto("/suites/subordination/")
    page.evaluate("""() => {
      for (const when of document.querySelectorAll("#scores time")) when.textContent = "59 minutes ago";
    }""")
    for table in ("#scores", "#prediction-rates"):
        box = page.locator(f".table-box:has({table})")
        assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
        assert box.get_attribute("data-goes-on") is None


def test_a_table_that_goes_on_to_the_right_shows_it_until_its_end_is_reached(page):
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/suites/agreement_orc/")
    box = page.locator(".table-box:has(#scores)")
    box.and_(page.locator("[data-goes-on=right]")).wait_for()
    assert "linear-gradient" in box.evaluate("box => getComputedStyle(box).maskImage")
    box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    page.locator(".table-box:has(#scores):not([data-goes-on])").wait_for()
    assert box.evaluate("box => getComputedStyle(box).maskImage") == "none"


def test_charts_of_two_predictions_stand_beside_each_other_where_there_is_room(page):
    page.goto("/suites/subordination/")
    page.locator("#scores").get_by_role("link", name=re.compile("^run ")).first.click()
    charts = page.locator(".predictions.results .chart-box")
    first, second = (charts.nth(k).bounding_box() for k in (0, 1))
    assert first["y"] == second["y"]
    assert first["x"] + first["width"] <= second["x"]
    page.set_viewport_size({"width": 390, "height": 800})
    first, second = (charts.nth(k).bounding_box() for k in (0, 1))
    assert first["x"] == second["x"]
    assert first["y"] < second["y"]
