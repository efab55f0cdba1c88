"""The site's main workflow with mouse and keyboard: import a suite, run a model, see pass rates."""

from __future__ import annotations

import re

from tests.lmgym.suites.documents import suite_bytes


def test_a_file_becomes_a_suite_a_run_and_results(signed_in, tmp_path):
    page = signed_in
    path = tmp_path / "mine.json"
    path.write_bytes(suite_bytes(name="mine", items=5))
    page.get_by_role("link", name="Suites", exact=True).first.click()
    page.get_by_role("link", name=re.compile("Import")).first.click()
    page.locator("#id_file").set_input_files(path)
    page.get_by_role("button", name=re.compile("Import")).click()
    page.wait_for_url("**/suites/mine/")
    assert page.get_by_text("surprisal at Verb is higher in mismatch than in match").first.is_visible()
    page.get_by_role("button", name=re.compile("Freeze")).first.click()
    page.wait_for_url("**/suites/mine/r1/")
    page.get_by_role("link", name="Run", exact=True).click()
    page.get_by_label(re.compile("Demo GPT-2")).check()
    page.get_by_role("button", name="Run selected models").click()
    page.wait_for_url("**/runs/*/")
    # The page follows the run without a reload.
    page.get_by_text("of 5").first.wait_for(timeout=60_000)
    assert page.locator("svg[role=img]").first.is_visible()
    page.get_by_role("link", name=re.compile(r"^(Item )?1$")).first.click()
    page.wait_for_url("**/items/1/")
    assert page.get_by_text("mismatch", exact=True).first.is_visible()


def test_the_theme_switch_is_remembered(page):
    page.goto("/")
    switch = page.locator("[data-theme-switch]")
    seen = {page.evaluate("getComputedStyle(document.body).backgroundColor")}
    for _ in range(3):
        switch.click()
        seen.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(seen) == 2
    while page.locator("html").get_attribute("data-theme") != "dark":
        switch.click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.goto("/leaderboard/")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == dark


def test_the_keyboard_alone_reaches_the_content_and_opens_a_suite(page):
    page.goto("/suites/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent").strip().startswith("Skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    link = page.locator("main table a").first
    link.focus()
    address = link.get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{address}")
