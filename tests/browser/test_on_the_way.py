"""While the next page is loading, files cannot be sent twice, and a page that reloads itself does not cancel
a followed link.
"""

from __future__ import annotations

import re

LOG = '{"wordPredictions": [{"target": "hi", "rank": 1}]}\n'


def await_one(page, asked: list):
    for _ in range(500):
        if asked:
            return asked[0]
        page.wait_for_timeout(20)
    raise AssertionError(f"nothing was asked for, from {page.url}")


def test_files_that_were_sent_cannot_be_sent_again_before_the_next_page_is_there(signed_in, tmp_path):
    page = signed_in
    log = tmp_path / "one.log"
    log.write_text(LOG, encoding="utf-8")
    page.goto("/games/upload/")
    page.locator("input[type=file]").set_input_files(log)
    asked: list = []

    def never_come(route):
        asked.append(route)
        route.fulfill(status=204)  # a browser stays on the page

    page.route(re.compile(r"/games/(?!upload)\w+/$"), never_come)
    upload = page.get_by_role("button", name="Upload", exact=True)
    upload.click()
    await_one(page, asked)
    page.wait_for_timeout(200)
    assert upload.is_disabled()


def test_a_pressed_link_leads_on_though_the_page_would_reload_itself(signed_in):
    page = signed_in
    page.goto("/models/demo-gpt2/")  # a page that can reload itself
    asked: list = []
    page.route("**/propara/", lambda route: asked.append(route))
    page.evaluate(
        """() => {
            document.querySelector("a[href='/propara/']").click();
            document.querySelector("main").setAttribute("data-reload", "");
            document.dispatchEvent(new Event("htmx:afterSettle"));
        }"""
    )
    await_one(page, asked).continue_()
    page.wait_for_url("**/propara/")
