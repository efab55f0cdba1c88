"""Approval of models by staff on the running site: refused with a reason, approved from the list."""

from __future__ import annotations

import pytest

from tests.browser.authoring import sign_in
from tests.browser.axe import violations_in_both_themes

SPILL = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def waiting(signed_in):
    """`waiting(name)` registers a model for alice that waits for approval, and returns its address. Its
    folder does not exist."""

    def make(name: str) -> str:
        page = signed_in
        page.goto("/models/register/")
        page.get_by_label("Source").select_option("directory")
        page.locator("[name$=path]:visible").first.fill(f"no-{name}")
        page.locator("[name=name]").fill(name)
        page.locator("[name=slug]").fill(name)
        page.get_by_role("button", name="Register").click()
        page.get_by_text("Size unknown.").wait_for()  # the review before registration
        page.get_by_role("button", name="Register").click()
        page.get_by_text("Waiting for approval by staff").wait_for()
        return f"/models/{name}/"

    return make


@pytest.fixture
def staff(browser, site):
    """A page on which a staff member is signed in."""
    context = browser.new_context(base_url=site, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    sign_in(page, "admin", "demo-admin")
    yield page
    context.close()


def test_a_model_is_refused_by_keyboard_and_its_owner_reads_why(signed_in, waiting, staff):
    address = waiting("refused-model")
    staff.goto("/staff/")
    staff.get_by_role("link", name="Refuse … refused-model").focus()
    staff.keyboard.press("Enter")
    staff.wait_for_url(f"**{address}#reason")
    reason = staff.get_by_label("Reason")
    reason.wait_for(state="visible")  # the link opens the element that contains it
    staff.get_by_role("button", name="Refuse", exact=True).press("Enter")
    assert staff.evaluate("document.activeElement.name") == "reason"  # the browser requires it
    staff.keyboard.type("Nobody knows where its weights come from.")
    staff.keyboard.press("Tab")
    staff.keyboard.press("Enter")
    staff.get_by_text("Refused. The owner sees the reason on this page.").wait_for()

    signed_in.goto(address)
    assert signed_in.get_by_text("Staff refused this model.").is_visible()
    assert signed_in.get_by_text("Nobody knows where its weights come from.").is_visible()
    staff.goto("/staff/")
    assert staff.get_by_role("link", name="Refuse … refused-model").count() == 0


def test_an_approved_model_is_checked_and_its_page_says_what_came_of_it(signed_in, waiting, staff):
    address = waiting("approved-model")
    staff.goto("/staff/")
    staff.get_by_role("button", name="Approve approved-model").focus()
    staff.keyboard.press("Enter")
    staff.get_by_text("Size unknown.").wait_for()  # the same review as at registration
    staff.get_by_role("button", name="Approve", exact=True).click()
    staff.get_by_text("Approved. The check is queued.").wait_for()
    staff.get_by_text("This model does not work.").wait_for(timeout=60_000)  # without a reload
    signed_in.goto(address)
    assert signed_in.get_by_text("There is no 'no-approved-model' in the model directory.").is_visible()


def test_the_pages_fit_a_telephone_and_axe_finds_nothing(waiting, staff):
    address = waiting("looked-at-model")
    found = {}
    for place in ("/staff/", f"{address}#reason"):
        staff.goto(place)
        found |= {f"{place} {rule}": nodes for rule, nodes in violations_in_both_themes(staff).items()}
        staff.set_viewport_size({"width": 390, "height": 844})
        assert staff.evaluate(SPILL) <= 0, place
        staff.set_viewport_size({"width": 1280, "height": 900})
    assert found == {}
