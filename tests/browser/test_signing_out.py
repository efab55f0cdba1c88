"""Signing out leaves no user data in the browser, and asks before deleting unsaved edits."""

from __future__ import annotations

import pytest

from tests.browser.authoring import begin, sign_in, stored
from tests.browser.own_site import PASSWORD

FIRST = ["The woman | plays | all day", "The woman | play | all day"]
KEPT = "() => Object.keys(localStorage).filter((key) => key.startsWith('lmgym-'))"
TEXTS = "() => JSON.stringify(localStorage)"


@pytest.fixture
def writer(browser, own_site):
    """A page of a user who is signed in to a site without demo data."""
    if own_site.process is None:
        own_site.start()
    context = browser.new_context(base_url=own_site.url, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    sign_in(page, "writer", PASSWORD)
    yield page
    context.close()


@pytest.fixture
def unsaved(writer):
    """The editor with a word that has not reached the server."""
    page = writer
    sheet = begin(page, ["match", "mismatch"], ["Subject", "Verb", "Rest"], FIRST)
    stored(sheet)
    page.route("**/api/**", lambda route: route.abort())
    sheet.click(0, 1)
    sheet.type("secretword")
    sheet.press("Enter")
    page.wait_for_function("() => JSON.stringify(localStorage).includes('secretword')")
    return page


def sign_out(page):
    page.get_by_role("button", name="Sign out", exact=True).click(no_wait_after=True)


def test_unsaved_edits_are_asked_about_and_deleted(unsaved):
    page = unsaved
    sign_out(page)
    dialog = page.get_by_role("dialog", name="Sign out and delete unsaved changes?")
    dialog.wait_for()
    assert "/editor/" in dialog.get_by_role("link").get_attribute("href")
    dialog.get_by_role("button", name="Stay signed in").click()
    assert page.evaluate(TEXTS).count("secretword") == 1
    sign_out(page)
    dialog.get_by_role("button", name="Delete and sign out").click()
    page.get_by_role("link", name="Sign in").first.wait_for()
    assert page.evaluate(KEPT) == []


def test_other_tabs_keep_nothing_more(unsaved):
    page = unsaved
    other = page.context.new_page()
    other.goto("/suites/")
    sign_out(other)
    other.get_by_role("button", name="Delete and sign out").click()
    other.get_by_role("link", name="Sign in").first.wait_for()
    page.wait_for_timeout(1500)  # it retries saving, and would store the unsaved edits again
    assert other.evaluate(KEPT) == []
    assert "secretword" not in other.evaluate(TEXTS)


def test_a_sign_out_that_no_script_saw_is_made_up_for_on_the_next_page(unsaved):
    page = unsaved
    other = page.context.new_page()
    other.goto("/suites/")
    other.evaluate("() => document.querySelector('form[data-sign-out]').submit()")
    other.get_by_role("link", name="Sign in").first.wait_for()
    other.wait_for_function(f"() => !({KEPT})().length")
    assert "gym_signed_out" not in other.evaluate("() => document.cookie")


def test_with_all_saved_nothing_is_asked(writer):
    writer.goto("/suites/")
    sign_out(writer)
    writer.get_by_role("link", name="Sign in").first.wait_for()
