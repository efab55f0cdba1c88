"""The API's own page: Swagger UI under the site's Content-Security-Policy, from the site's own files."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser


def test_the_description_can_be_read_and_nothing_is_blocked(page, site):
    """`page` fails the test when the browser reports anything blocked."""
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    page.goto("/api/v1/docs/")
    page.wait_for_selector(".opblock-summary", timeout=60_000)
    first = page.locator(
        "#operations-agent-runs-agent_runs_list .opblock-summary"
    )  # others are drawn when scrolled to
    first.click()
    page.wait_for_selector("#operations-agent-runs-agent_runs_list .opblock-body")
    assert all(url.startswith((site, "data:", "blob:")) for url in fetched), fetched
