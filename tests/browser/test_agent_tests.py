"""Agent tests with mouse and keyboard: write a case, run it, read the transcript, sort its failures."""

from __future__ import annotations

import re

CASE = """\
agent: echo
success_ratio: "2/4"
interactions: [
  { text: "FLAKY greeting", response: { text: { keywords: "Hello" } } }
]
"""


def test_from_a_new_suite_to_named_failure_modes(signed_in):
    page = signed_in
    page.goto("/agents/")
    page.get_by_role("link", name=re.compile("New test suite")).first.click()
    page.get_by_label("Title").fill("Browser manners")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/agents/browser-manners/")
    page.get_by_role("link", name=re.compile("New case")).first.click()

    # What is wrong is said while typing.
    page.get_by_label("Name").fill("greets")
    page.get_by_label(re.compile("Test case")).fill(CASE.replace("keywords", "keyword"))
    page.get_by_text("Did you mean keywords?").wait_for()
    page.get_by_label(re.compile("Test case")).fill(CASE)
    page.get_by_text("1 check in 1 turn").wait_for()
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(re.compile(r"/cases/\d+/$"))

    page.get_by_role("link", name="Browser manners").click()
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/agents/runs/*/")
    # The page follows the run by itself.
    page.get_by_text("cases passed").wait_for(timeout=60_000)
    page.get_by_role("link", name="greets").click()
    assert page.get_by_text("Hello world").first.is_visible()
    assert page.get_by_text("Goodbye moon").first.is_visible()
    assert page.get_by_text("2/4").first.is_visible()

    page.get_by_role("link", name="Failure modes").click()
    assert page.get_by_text("2 of 2 failures").is_visible()
    page.get_by_text("Rename or merge").click()
    page.get_by_label("Name").fill("Says goodbye instead")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Says goodbye instead").wait_for()


def test_a_case_as_a_form_with_the_keyboard(signed_in):
    page = signed_in
    page.goto("/agents/demo-conversations/")
    page.get_by_role("link", name="manners/varies").click()
    page.wait_for_url(re.compile(r"/cases/\d+/$"))
    assert page.get_by_text("FLAKY greeting").first.is_visible()
    assert page.get_by_text("Nothing to remark").is_visible() or page.get_by_text("checks in").is_visible()
