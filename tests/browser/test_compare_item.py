"""Two models on one item, reached by links: beside each other where there is room."""

from __future__ import annotations

import pytest

from gym.jobs.testing import run_pending
from gym.runs.work import services
from tests.factories import make_model, make_revision


@pytest.fixture
def page(live_server, browser, people):
    """A page on a site with runs of two models on a suite."""
    revision = make_revision(people.alice, items=2, name="s")
    for slug in ("one", "two"):
        services.queue_run(revision, make_model(people.alice, slug=slug), actor=people.alice)
    run_pending()
    context = browser.new_context(base_url=live_server.url, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert not complaints, complaints


def test_two_models_stand_beside_each_other_on_an_item_where_there_is_room(page):
    page.goto("/suites/s/")
    page.get_by_role("link", name="Margins, items and tokens of this run").click()
    page.get_by_role("link", name="Item 2", exact=True).click()
    page.get_by_text("Compare with").get_by_role("link").first.click()
    page.wait_for_url("**item=2**")
    assert page.locator("table.lens").count() == 2
    for width, beside in ((1600, True), (1280, False), (390, False)):
        page.set_viewport_size({"width": width, "height": 900})
        first, second = (section.bounding_box() for section in page.locator(".lenses > .section").all())
        assert (first["y"] == second["y"], first["x"] < second["x"]) == (beside, beside), width
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width
