"""Following a link from a form with typed text or chosen files asks first; submitting the form does not."""

from __future__ import annotations

import pytest

from tests.lmgym.propara.worlds import shipped

BAD = {"name": "bad.tsv", "mimeType": "text/plain", "buffer": b"no predictions"}
GOOD = {"name": "good.tsv", "mimeType": "text/plain", "buffer": shipped("hasty").encode()}


def asked_on_leaving(page) -> bool:
    """Return True if the browser asks before leaving the page; the question is dismissed."""
    page.complaints.clear()  # such as a 400 from the server
    here = page.url
    page.get_by_role("link", name="Agents", exact=True).first.click(no_wait_after=True)
    for _ in range(100):
        if page.complaints or page.url != here:
            break
        page.wait_for_timeout(50)
    asked = page.complaints == ["dialog: "]
    page.complaints.clear()
    return asked


@pytest.mark.parametrize("address", ["/agents/new/", "/suites/import/"])
def test_typed_text_is_asked_about(signed_in, address):
    signed_in.goto(address)
    assert not asked_on_leaving(signed_in)
    signed_in.goto(address)
    fields = signed_in.locator("main form[method=post]").locator("textarea:visible, input[type=text]:visible")
    fields.first.fill("Mine")
    assert asked_on_leaving(signed_in)


def test_a_chosen_file_is_asked_about_also_after_it_was_refused_and_is_sent_without_a_question(signed_in):
    page = signed_in
    page.goto("/propara/everyday-processes/")
    page.locator("input[type=file]").set_input_files(BAD)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.get_by_role("alert").first.wait_for()
    assert asked_on_leaving(page)
    page.locator("input[type=file]").set_input_files(GOOD)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/propara/submissions/*/")


def test_text_that_came_back_refused_is_asked_about(signed_in):
    page = signed_in
    page.goto("/agents/new/")
    page.get_by_role("button", name="Save").click()
    page.locator(".is-invalid").first.wait_for()
    page.get_by_label("Description").click()
    assert asked_on_leaving(page)
