"""Comparisons reached by links alone: one model on two revisions of a suite, and two models on one item."""

from __future__ import annotations

import pytest

from gym.jobs.testing import run_pending
from gym.runs.work import services
from lmgym.suites.formats import read_suite
from suites import services as suites
from tests.factories import make_model, make_revision
from tests.lmgym.suites.documents import AGREEMENT, suite_bytes


@pytest.fixture
def page(live_server, browser, people):
    """A page on a site with runs of two models on two revisions of a suite. The second revision has one more
    item and one more prediction.
    """
    older = make_revision(people.alice, items=4, name="s", formulas=(AGREEMENT,))
    models = [make_model(people.alice, slug=slug) for slug in ("one", "two")]
    document = read_suite(
        suite_bytes(items=5, name="s", formulas=(AGREEMENT, "(1;%match%) = (1;%mismatch%)"))
    )
    suites.replace_draft(older.suite, document, actor=people.alice)
    newer = suites.freeze(older.suite, actor=people.alice)
    for revision in (older, newer):
        for model in models:
            services.queue_run(revision, model, actor=people.alice)
    run_pending()
    context = browser.new_context(base_url=live_server.url, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert not complaints, complaints


def test_the_revisions_of_a_suite_are_compared_from_its_page(page):
    page.goto("/suites/s/r2/")
    page.get_by_role("link", name="Compare with r1").click()
    page.wait_for_url("**/compare/**")
    rows = page.locator("#sides tbody tr")
    assert rows.locator("th").all_inner_texts() == ["One, r1", "One, r2", "Two, r1", "Two, r2"]
    assert rows.nth(0).locator("td").nth(0).inner_text() == "0.0%"  # the uniform model ties
    assert rows.nth(1).locator("td").nth(0).inner_text() == "50.0%"
    pair = page.locator("#pairs tbody tr").filter(has_text="One, r2 − One, r1")
    assert pair.locator("td").all_inner_texts()[:2] == ["4", "0.0"]  # the shared prediction only
    assert page.locator("#pairs tbody tr").count() == 4  # no pair of One on r1 with Two on r2
    assert "r2, prediction 2" in page.locator("#not-compared").inner_text()
    assert page.get_by_text("Items are matched by number, predictions by formula.").is_visible()
    last = page.locator("#compare-items tbody tr").last
    assert last.locator("td").nth(1).inner_text() == "no such item"
    page.get_by_role("link", name="Changes in the suite").click()
    page.wait_for_url("**/suites/s/diff/**")


def test_what_changed_leads_to_what_it_did_to_results(page):
    page.goto("/suites/s/r2/")
    page.goto("/compare/?model=one&suite=s&r=1&r=2")
    page.get_by_role("link", name="Changes in the suite").click()
    page.get_by_role("link", name="one, two on both, item by item").click()
    page.wait_for_url("**/compare/**")
    assert page.locator("#sides tbody tr").count() == 4


def test_a_baseline_is_chosen_in_the_form(page):
    page.goto("/compare/?model=one&model=two")
    page.get_by_text("Choose models").click()
    page.get_by_label("Baseline").select_option("Two")
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_url("**base=two**")
    heads = page.locator("#compared thead th").all_inner_texts()
    assert [head.strip() for head in heads[1:4]] == ["Two", "One", "Difference from Two"]


@pytest.mark.parametrize(("width", "beside"), [(1600, True), (1280, False), (390, False)])
def test_two_models_stand_beside_each_other_on_an_item_where_there_is_room(page, width, beside):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/suites/s/r2/")
    page.get_by_role("link", name="Margins, items and tokens of this run").click()
    page.get_by_role("link", name="Item 2", exact=True).click()
    page.get_by_text("Compare with").get_by_role("link").first.click()
    page.wait_for_url("**item=2**")
    first, second = (section.bounding_box() for section in page.locator(".lenses > .section").all())
    assert (first["y"] == second["y"], first["x"] < second["x"]) == (beside, beside)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("table.lens").count() == 2
