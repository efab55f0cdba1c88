"""The API's documentation page: Swagger UI from the site's own files, under its Content-Security-Policy."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser


def test_the_description_can_be_read_and_nothing_is_blocked(page, site):
    """`page` fails the test if the browser reports a blocked resource."""
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    page.goto("/api/v1/docs/")
    page.wait_for_selector(".opblock-summary", timeout=60_000)
    first = page.locator(
        "#operations-agent-runs-agent_runs_list .opblock-summary"
    )  # the others are drawn only when scrolled into view
    first.click()
    page.wait_for_selector("#operations-agent-runs-agent_runs_list .opblock-body")
    assert all(url.startswith((site, "data:", "blob:")) for url in fetched), fetched


def test_it_is_dark_where_the_site_is_and_leads_back(page):
    page.emulate_media(color_scheme="dark")
    page.goto("/api/v1/docs/")
    page.wait_for_selector(".opblock-summary", timeout=60_000)
    assert page.locator("html.dark-mode").count() == 1
    page.emulate_media(color_scheme="light")
    page.wait_for_selector("html:not(.dark-mode)")
    page.get_by_role("link", name="LM Gym", exact=True).click()
    page.wait_for_url("**:*/")
